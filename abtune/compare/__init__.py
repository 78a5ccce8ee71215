"""From a dataset to comparisons with verdicts."""
