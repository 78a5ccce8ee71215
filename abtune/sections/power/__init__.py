"""How many seeds it takes."""
