"""Statistics on plain arrays: intervals, tests, corrections. No labels, no files, no console."""
