"""The plan of a sweep, and the values that all other rooms pass around."""
