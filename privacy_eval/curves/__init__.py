"""Figures of curves and matrices."""
