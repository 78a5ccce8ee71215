"""The formats of reports, one module each; ``format_registry`` lists them."""
