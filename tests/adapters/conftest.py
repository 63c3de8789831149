"""Compiling is most of what these tests cost; what they test does not need it optimised."""

import jax
import pytest


@pytest.fixture(scope="module")
def quick_compiling():
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
