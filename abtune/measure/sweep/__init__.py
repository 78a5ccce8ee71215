"""Sweeps: searching, then measuring winners again."""
