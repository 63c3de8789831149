"""Exact answers for finite worlds, without sampling."""
