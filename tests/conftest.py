"""What holds in every test: shapes are never broadcast by accident, random examples are the same each run, and
programs are compiled quickly.
"""

import functools
import gc
import os

import jax
import pytest
from hypothesis import HealthCheck, settings
from jax._src.interpreters import mlir

from bisimulator.jobs import run
from tests.report.browser import Browser

jax.config.update("jax_numpy_rank_promotion", "raise")
# Compiling is most of the tests' time. The numbers mean the same; how fast they come is for benchmarks/ to say.
jax.config.update("jax_disable_most_optimizations", True)
# where in the source an operation comes from is looked up for each one, and read by nobody
jax.config.update("jax_traceback_in_locations_limit", 0)
# jax sets up MLIR anew for each program, which takes longer than lowering a small one; here all share it
mlir.make_ir_context = functools.cache(mlir.make_ir_context)

# Traced programs are many small objects that stay; looking for garbage among them again and again takes a tenth of the
# tests' time.
gc.set_threshold(50_000, 20, 50)

# deadline None: the first example compiles. Derandomised: a failure here is a failure everywhere.
settings.register_profile(
    "deterministic", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("deterministic")


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    """Compiled programs are kept for all tests of all workers, apart from the user's."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BISIMULATOR_CACHE", str(folder / "cache"))
        run.use_compilation_cache()
        yield


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One browser for all pages: starting it takes as long as looking at them."""
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def key():
    return jax.random.key(0)
