"""Shapes as a sample: whether they differ, and what they say about shapes like them."""
