"""The version of the package, below everything that prints it."""

__version__ = "0.1.0"
