"""Differences of two samples with their standard errors."""
