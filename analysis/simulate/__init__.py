"""Made-up data with known truth, on which the scripts and the tests calibrate methods."""
