"""Fairness methods, one file each: hooks on an unmodified solver."""
