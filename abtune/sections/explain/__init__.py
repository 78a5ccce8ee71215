"""The whole story of one shape."""
