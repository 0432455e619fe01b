"""The metric study: simulations that show what each metric sees and what it misses."""
