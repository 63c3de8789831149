"""Small models that learn quickly: what is tested is what the callback does, not what comes out."""

import jax
import numpy as np
import pytest
import torch

from bisimulator.adapters.sb3 import BisimulatorVecEnv


@pytest.fixture(autouse=True, scope="package")
def one_thread_and_quick_compiling():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
    torch.set_num_threads(threads)


@pytest.fixture
def venv():
    return BisimulatorVecEnv("lending", 4, population=20, horizon=30)


@pytest.fixture
def rng():
    return np.random.default_rng(0)
