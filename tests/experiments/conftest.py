"""Tests here compile much and compute little, and keep compiled programs in a folder of their own."""

import jax
import pytest


@pytest.fixture(autouse=True, scope="module")
def compile_quickly():
    """Fewer optimisations: compiling takes a third of the time, and the numbers mean the same."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    before = jax.config.jax_compilation_cache_dir
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BISIMULATOR_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
    jax.config.update("jax_compilation_cache_dir", before)
