"""Made-up data with known truth, which methods are calibrated on."""
