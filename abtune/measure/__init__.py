"""The measuring half: plans tuning runs, carries them out, and makes a dataset of them."""
