"""The metric study: simulations that show what each metric detects and misses."""
