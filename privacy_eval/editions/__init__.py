"""Results files of the editions of 2020 to 2026."""
