"""The boost by number of trials."""
