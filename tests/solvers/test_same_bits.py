"""A seed's numbers depend neither on the other seeds nor on the number of cores."""

import dataclasses
import hashlib
import json
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


def digests(cores):
    """Method -> digest after two updates, in a process of its own that may use so many cores; None: all of them."""
    program = "import json, os; allowed = sorted(os.sched_getaffinity(0)); "
    program += f"os.sched_setaffinity(0, allowed[:{cores}]); "
    program += "from tests.solvers import test_same_bits as here; "
    program += "print(json.dumps({name: here.train_at_full_size(name) for name in here.LEARNED}))"
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def train_at_full_size(name):
    """Networks and batches of the default size, because small products are never split over cores.

    Whoever searches for omega does so once, in few steps.
    """
    env = bisimulator.make("lending", population=100, horizon=2000)
    entry = registry.lookup("method", name)
    few = {"dynamics_at": (0.5,), "dynamics_steps": 2, "psi_first_steps": 2, "psi_steps": 2}
    searches = bool(getattr(entry.config, "dynamics_steps", 0))
    config = dataclasses.replace(entry.config, **few) if searches else entry.config
    solver = trainer.make_solver(entry, env, 2 * trainer.SOLVERS[entry.solver][1]().batch, config=config)
    return digest(all_seeds(trainer.train(env, solver, (SEED,))))


@pytest.mark.long
@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="this system cannot limit a process to a core"
)
def test_one_core_is_as_many():
    """Each process compiles for itself, because a program may depend on the cores it is compiled for."""
    assert digests(cores=1) == digests(cores=None)
