"""All shapes together."""
