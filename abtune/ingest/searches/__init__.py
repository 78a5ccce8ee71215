"""Tuning databases and logs."""
