"""The noise of seeds, sessions and timings: how large it is, and how well that is known."""
