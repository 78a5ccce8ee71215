"""Dumps of repeated timings."""
