"""Whether a machine is ready to sweep."""
