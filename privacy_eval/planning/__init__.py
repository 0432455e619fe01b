"""How many speakers, or listeners, an evaluation needs."""
