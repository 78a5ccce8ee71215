"""Series of consecutive timings of one process, which depend on each other."""
