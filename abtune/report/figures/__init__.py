"""Figures, for those who have matplotlib."""
