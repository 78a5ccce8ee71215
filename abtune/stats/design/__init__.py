"""What a design can show: smallest p, detectable boost, seeds needed, interim looks."""
