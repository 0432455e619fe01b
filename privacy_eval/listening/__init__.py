"""Listening tests."""

#: Results and figures in the folder of an evaluated listening test.
RESULTS, FIGURES = "subjective.json", "figures"
