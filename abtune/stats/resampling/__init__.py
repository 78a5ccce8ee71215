"""Bootstrap distributions and permutation splits, exact wherever they can be counted."""
