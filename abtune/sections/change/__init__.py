"""What changed between two datasets."""
