"""Tests of a difference and of equivalence, and their corrections over many shapes."""
