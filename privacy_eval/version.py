"""The version of the package, below everything that prints it."""

__version__ = "1.0.0"
