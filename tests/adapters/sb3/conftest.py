"""Small environments and one thread, so that models train quickly."""

import numpy as np
import pytest
import torch

from bisimulator.adapters.sb3 import BisimulatorVecEnv


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def venv():
    return BisimulatorVecEnv("lending", 4, population=20, horizon=30)


@pytest.fixture
def rng():
    return np.random.default_rng(0)
