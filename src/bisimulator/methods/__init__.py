"""Fairness methods, one file per method: hooks on an unmodified solver."""
