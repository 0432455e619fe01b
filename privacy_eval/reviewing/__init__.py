"""Reviewing: results computed again, results against earlier ones, and personal data of a run."""
