"""Figures, each from a dataset and its analysis."""
