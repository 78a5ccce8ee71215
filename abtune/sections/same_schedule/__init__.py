"""The same schedule under both configurations: what is code, and what was luck."""
