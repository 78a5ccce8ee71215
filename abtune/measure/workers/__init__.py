"""Processes that search, build and measure."""
