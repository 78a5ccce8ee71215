"""Where the noise comes from."""
