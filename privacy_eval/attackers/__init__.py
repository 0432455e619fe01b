"""Attackers that need no neural network: words, alignment, score normalization, fusion."""
