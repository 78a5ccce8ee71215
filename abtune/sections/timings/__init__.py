"""What raw timings of single processes show."""
