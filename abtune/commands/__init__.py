"""The commands of the analysing half, one module each; only click is imported before a command runs."""
