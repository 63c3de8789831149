"""A seed's numbers depend neither on the other seeds nor on the number of cores."""

import hashlib
import os
import subprocess
import sys

import jax
import numpy as np
import pytest

import bisimulator
from bisimulator import registry
from bisimulator.methods.hooks import LearnedMethod
from bisimulator.solvers import trainer
from tests.probes import all_seeds
from tests.small import make_small, tiny_solver

LEARNED = [
    name
    for name in registry.names("method")
    if isinstance(registry.lookup("method", name), LearnedMethod)
    and registry.lookup("method", name).applies(registry.lookup("environment", "lending"))
]
SHORT = ("ppo", "dqn")
SEED = 3


def digest(tree):
    """A hash of all bits of the last seed's leaves."""
    return hashlib.sha256(b"".join(np.asarray(x)[-1].tobytes() for x in jax.tree.leaves(tree))).hexdigest()


def methods(short=SHORT):
    return [pytest.param(name, marks=[] if name in short else [pytest.mark.long]) for name in LEARNED]


@pytest.mark.parametrize("name", methods())
def test_a_seed_alone_is_the_seed_among_others(name):
    env = make_small("lending")
    solver = tiny_solver(name, env)
    alone, among = (all_seeds(trainer.train(env, solver, seeds)) for seeds in ((SEED,), (0, 1, SEED)))
    assert digest(alone) == digest(among)


def train_at_full_size(name):
    """Networks and batches of the default size, because small products are never split over cores."""
    env = bisimulator.make("lending", population=100, horizon=2000)
    entry = registry.lookup("method", name)
    config = trainer.SOLVERS[entry.solver][1]()
    return digest(all_seeds(trainer.train(env, trainer.make_solver(entry, env, 5 * config.batch), (SEED,))))


@pytest.mark.long
@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="this system cannot limit a process to a core"
)
@pytest.mark.parametrize("name", [name for name in LEARNED if not name.endswith("-bisimulator")])
def test_one_core_is_as_many(name):
    """Methods that search for omega take minutes at this size; their products are those of the other methods."""
    program = "import os, sys; cores = sorted(os.sched_getaffinity(0)); "
    program += "os.sched_setaffinity(0, cores[: int(sys.argv[2]) or None]); "
    program += "from tests.solvers.test_same_bits import train_at_full_size; "
    program += "print(train_at_full_size(sys.argv[1]))"
    one, all_of_them = (
        subprocess.run(
            [sys.executable, "-c", program, name, cores], capture_output=True, text=True, check=True
        ).stdout
        for cores in ("1", "0")
    )
    assert one == all_of_them
