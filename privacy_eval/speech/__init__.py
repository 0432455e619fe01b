"""Speech to x-vectors: audio, features, networks; and the baseline B2."""
