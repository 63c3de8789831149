"""What holds in every test: shapes are never broadcast by accident, random examples are the same each run, and
programs are compiled quickly, and once.
"""

import functools
import gc
import hashlib

import jax
import pytest
from hypothesis import HealthCheck, settings
from jax._src.interpreters import mlir
from llvmlite import binding as llvm

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


SECONDS_WORTH_CACHING = 0.05  # of compiling; smaller programs take nearly as long to store
MAX_CACHE_BYTES = 2**30


@pytest.fixture(autouse=True, scope="session")
def own_cache(request):
    """Compiled programs are kept for all tests of all workers and for later runs, apart from the user's.

    Their key is the whole program, the versions and the flags, so a changed program is compiled again. `make clean` and
    `pytest --cache-clear` forget them.
    """
    folder = request.config.cache.mkdir(f"programs-{processor()}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BISIMULATOR_CACHE", str(folder))
        patch.setattr(run, "_SECONDS_WORTH_CACHING", SECONDS_WORTH_CACHING)
        run.use_compilation_cache()
        yield


def processor():
    """A short name of the kind of processor: programs that are compiled for one may not run on another."""
    kind = f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
    return hashlib.sha256(kind.encode()).hexdigest()[:12]


def pytest_sessionfinish(session):
    """Forget all programs when those of changed code fill the disk; not the folder, which another run may use."""
    if hasattr(session.config, "workerinput"):
        return
    programs = [*session.config.cache.mkdir(f"programs-{processor()}").iterdir()]
    if sum(program.stat().st_size for program in programs) > MAX_CACHE_BYTES:
        for program in programs:
            program.unlink(missing_ok=True)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One browser for all pages: starting it takes as long as looking at them."""
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def key():
    return jax.random.key(0)
