"""The commands, a module for each or for those alike; each imports what it needs when it runs."""
