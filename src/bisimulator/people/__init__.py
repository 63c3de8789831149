"""Populations from files: records or tables of people become the parameters of an environment."""
