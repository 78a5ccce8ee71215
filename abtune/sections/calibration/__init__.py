"""Error rates and power, measured on a dataset."""
