"""What a solver is, and what every solver's configuration must satisfy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, get_args

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree
from typing_extensions import TypeVar

from bisimulator.core import Act, Env, Params, Scenario
from bisimulator.errors import check_int, check_known, check_options, check_real
from bisimulator.methods.hooks import Hook, Method, Transitions
from bisimulator.policies import MLP, Categoricals, Gaussian

# act(theta of all seeds, keys (S,), observations (S, E, D)) -> actions (S, E)
BatchAct: TypeAlias = Callable[[PyTree, Key[Array, "S"], Float[Array, "S E D"]], Int[Array, "S E"]]

# what follows a decision: the environment's next observation, or the same person's
Bootstrap: TypeAlias = Literal["next", "same-person"]


class SolverConfig(Protocol):
    """What the trainer reads of a solver's hyperparameters."""

    @property
    def num_envs(self) -> int: ...
    @property
    def rollout(self) -> int: ...
    @property
    def minibatch(self) -> int: ...
    @property
    def epochs(self) -> int: ...
    @property
    def learning_rate(self) -> float: ...
    @property
    def gamma(self) -> float: ...
    @property
    def bootstrap(self) -> Bootstrap: ...
    @property
    def visit_gamma(self) -> float: ...
    @property
    def hidden(self) -> tuple[int, ...]: ...
    @property
    def input_scale(self) -> float: ...
    @property
    def average(self) -> float: ...
    @property
    def batch(self) -> int:
        """Environment steps per update."""

    @property
    def stochastic(self) -> bool:
        """What is learned is a stochastic policy, which is evaluated by sampling its actions."""


class TrainingState(Protocol):
    """Everything that changes during training, with a leading seed axis."""

    @property
    def key(self) -> Key[Array, "S"]: ...
    @property
    def theta(self) -> PyTree: ...
    @property
    def method(self) -> PyTree:
        """The state of the fairness method."""

    @property
    def update(self) -> Int[Array, ""]: ...


T = TypeVar("T", bound=TrainingState, default=Any)  # each solver has its own
N = TypeVar("N", bound=MLP | Categoricals | Gaussian)  # a network


class Solver(Protocol[T]):
    """An RL algorithm as pure functions; the trainer compiles and loops them.

    Solver code sees observations, actions and rewards. It never knows which scenario runs, and fairness enters only
    through the hooks of `method`.
    """

    hooks: ClassVar[frozenset[Hook]]  # the hooks of `Method` that it calls

    @property
    def config(self) -> SolverConfig: ...
    @property
    def method(self) -> Method: ...
    @property
    def updates(self) -> int:
        """Updates of the whole training, for annealing."""

    def init(self, keys: Key[Array, "S"], env: Env) -> T: ...

    def update(self, training: T, scenario: Scenario, params: Params) -> tuple[T, dict[str, Array]]:
        """One update of all seeds, and its logs (see `rollout.batch_logs`)."""

    def policy(self, theta: PyTree) -> MLP | Categoricals | Gaussian:
        """The network of one seed that decides: its largest outputs, or its means, are the greedy action."""

    def behave(self, theta: PyTree) -> Act:
        """How one seed's policy acts while it learns, apart from exploration."""


def successors(config: SolverConfig, batch: Transitions) -> tuple[Float[Array, "*B D"], float]:
    """The observations whose value counts for each decision, and their discount."""
    if config.bootstrap == "same-person":
        return batch.next_self_obs, config.visit_gamma
    return batch.next_obs, config.gamma


def move_average(average: N, now: N, update: Int[Array, ""], share: float) -> N:
    """The running average of a network's weights over the last `share` of the updates so far."""
    rate = 1 / jnp.maximum(share * (update + 1), 1.0)
    moved: N = jax.tree.map(lambda old, new: old + rate * (new - old), average, now)
    return moved


def check_hooks(solver: type[Solver], method: Method) -> None:
    """Refuse a method that needs hooks which the solver would ignore."""
    ignored = sorted(method.used_hooks() - solver.hooks)
    if ignored:
        raise ValueError(
            f"{solver.__name__} does not call {', '.join(ignored)}, which {type(method).__name__} needs; "
            "use a solver that does, such as PPO"
        )


def check_solver_config(config: SolverConfig) -> None:
    """Wrong values raise before anything compiles."""
    check_options(config)
    for name, value in (
        ("num_envs", config.num_envs),
        ("rollout", config.rollout),
        ("minibatch", config.minibatch),
        ("epochs", config.epochs),
    ):
        check_int(name, value, min=1)
    check_real("gamma", config.gamma, min=0, max=1)
    check_known("bootstrap", config.bootstrap, get_args(Bootstrap))
    check_real("visit_gamma", config.visit_gamma, min=0, max=1)
    check_real("average", config.average, min=0, max=1)
    check_real("input_scale", config.input_scale, min=1e-9)
    for width in config.hidden:
        check_int("a hidden layer", width, min=1)
