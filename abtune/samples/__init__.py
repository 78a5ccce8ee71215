"""From a dataset to arrays: one value a seed, and what was lost on the way."""
