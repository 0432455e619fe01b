"""Automatic speaker verification: back ends, trials and voice similarity."""
