"""Tests here compile much and compute little."""

import jax
import pytest


@pytest.fixture(autouse=True, scope="module")
def compile_quickly():
    """Fewer optimisations: compiling takes a third of the time, and the numbers mean the same."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
