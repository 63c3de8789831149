"""Metrics, one file each: a number per group from an episode's `Outcome`, then what is said over groups."""
