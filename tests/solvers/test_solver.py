"""The contract between solvers and methods: a solver refuses a method whose hooks it would ignore."""

import pytest

import bisimulator
from bisimulator import registry
from bisimulator.methods.elbert import ELBERT
from bisimulator.methods.hooks import HOOKS, LearnedMethod, Method, Plain
from bisimulator.solvers.dqn import DQN
from bisimulator.solvers.solver import check_hooks
from bisimulator.solvers.trainer import SOLVERS

ENV = bisimulator.make("lending", population=6, horizon=5)
LEARNED = [
    name for name in registry.names("method") if isinstance(registry.lookup("method", name), LearnedMethod)
]


def test_a_solver_refuses_a_method_whose_hooks_it_would_ignore():
    method = ELBERT.build(ELBERT.config, ENV)
    with pytest.raises(
        ValueError, match=r"DQN does not call advantage, num_streams, streams, which Elbert needs"
    ):
        check_hooks(DQN, method)


@pytest.mark.parametrize("name", LEARNED)
def test_every_registered_method_is_accepted_by_its_own_solver(name):
    entry = registry.lookup("method", name)
    solver, _ = SOLVERS[entry.solver]
    check_hooks(solver, entry.build(entry.config, ENV))


@pytest.mark.parametrize("solver", [solver for solver, _ in SOLVERS.values()])
def test_every_solver_calls_known_hooks_and_accepts_the_plain_method(solver):
    assert solver.hooks <= HOOKS
    assert Plain().used_hooks() == Method().used_hooks() == frozenset()
    check_hooks(solver, Plain())
