"""Confidence intervals of a difference of means."""
