"""What a table with one run per cell supports."""
