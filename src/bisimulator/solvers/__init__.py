"""Solvers that train all seeds in one compiled program."""
