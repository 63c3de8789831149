"""What holds in every test: shapes are never broadcast by accident, and random examples are the same each run."""

import jax
import pytest
from hypothesis import HealthCheck, settings

jax.config.update("jax_numpy_rank_promotion", "raise")

# deadline None: the first example compiles. Derandomised: a failure here is a failure everywhere.
settings.register_profile(
    "deterministic", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("deterministic")


@pytest.fixture
def key():
    return jax.random.key(0)
