"""What holds in every test: shapes are never broadcast by accident, random examples are the same each run, and
programs are compiled quickly.
"""

import jax
import pytest
from hypothesis import HealthCheck, settings

from bisimulator.jobs.run import use_compilation_cache

jax.config.update("jax_numpy_rank_promotion", "raise")
# Compiling is most of the tests' time. The numbers mean the same; how fast they come is for benchmarks/ to say.
jax.config.update("jax_disable_most_optimizations", True)

# deadline None: the first example compiles. Derandomised: a failure here is a failure everywhere.
settings.register_profile(
    "deterministic", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("deterministic")


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    """Compiled programs are kept for all tests of a worker, apart from the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BISIMULATOR_CACHE", str(tmp_path_factory.mktemp("cache")))
        use_compilation_cache()
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.05)
        yield


@pytest.fixture
def key():
    return jax.random.key(0)
