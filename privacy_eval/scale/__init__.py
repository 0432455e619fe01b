"""Many trials: counts of scores that add up."""
