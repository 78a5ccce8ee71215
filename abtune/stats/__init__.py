"""Statistics on plain arrays: intervals, tests, corrections; arrays in, frozen results out."""
