"""Training of speaker encoders."""
