"""Results from elsewhere, read into the dataset of the schema."""
