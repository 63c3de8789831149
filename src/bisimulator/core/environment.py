"""An environment: a scenario with its parameters, made by name."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any, Generic, get_args

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key

from bisimulator import registry
from bisimulator._html import html_table
from bisimulator.core.scenario import Scenario
from bisimulator.core.spaces import ActionSpace, Discrete
from bisimulator.core.types import P, S, Step, View
from bisimulator.errors import check_keywords, check_known, shown


@dataclasses.dataclass(frozen=True, eq=False)
class Env(Generic[P, S]):
    """A scenario with its parameters: what `evaluate`, `train`, `certify` and `frontier` take."""

    name: str
    scenario: Scenario[P, S]
    params: P
    settings: Mapping[str, object] = dataclasses.field(default_factory=dict)  # the keywords of `make`

    def reset(self, key: Key[Array, ""]) -> S:
        state: S = _reset(self.scenario, key, self.params)
        return state

    def step(self, key: Key[Array, ""], state: S, action: Int[Array, ""]) -> tuple[S, Step]:
        after: tuple[S, Step] = _step(self.scenario, key, state, action, self.params)
        return after

    def observe(self, state: S) -> Float[Array, "D"]:
        obs: Float[Array, "D"] = _observe(self.scenario, state, self.params)
        return obs

    def with_omega(self, omega: Float[Array, "G K"]) -> Env[P, S]:
        """The same environment with other observation dynamics."""
        settings = {**self.settings, "omega": np.asarray(omega).tolist()}
        return dataclasses.replace(self, params=set_omega(self.params, omega), settings=settings)

    def life(self) -> Env[P]:
        """The life view: an episode is one person's life, with the same decisions as in the queue of applicants.

        Raises:
            ValueError: if people influence each other, so that a life is not independent of the others.
        """
        if self.scenario.life is None:
            raise ValueError(
                f"{self.name!r} has no life view, because people influence each other there; "
                'train on the queue of applicants: view="queue"'
            )
        return Env(self.name, self.scenario.life, self.params, self.settings)

    def in_view(self, view: View) -> Env[P, S] | Env[P]:
        """This environment, or its life view."""
        check_known("view", view, get_args(View))
        return self.life() if view == "life" else self

    @property
    def num_groups(self) -> int:
        return int(self.params.num_groups)

    @property
    def group_names(self) -> tuple[str, ...]:
        """The groups' names; numbers from 1 if they have none."""
        return self.params.group_names or tuple(str(g + 1) for g in range(self.num_groups))

    @property
    def omega_bounds(self) -> tuple[float, float]:
        """The range in which omega may be learned; it grows with how far scores move."""
        (low, high), scale = self.scenario.omega_bounds, self.params.omega_scale
        return low * scale, high * scale

    @property
    def horizon(self) -> int:
        return int(self.params.horizon)

    @property
    def action_space(self) -> ActionSpace:
        """What an action can be."""
        names = self.scenario.action_names
        return (
            Discrete(len(names), names)
            if self.scenario.action_space is None
            else self.scenario.action_space(self.params)
        )

    @property
    def num_actions(self) -> int:
        """The number of discrete actions.

        Raises:
            ValueError: if an action is not one numbered choice.
        """
        space = self.action_space
        if not isinstance(space, Discrete):
            raise ValueError(
                f"an action of {self.name!r} is {space}, and not one numbered choice, which this needs; "
                "use an environment with discrete actions, such as 'lending'"
            )
        return space.n

    @property
    def group_entries(self) -> int:
        """How many entries of an observation, after the first, encode the group; 0 if a step is about all groups."""
        return self.num_groups if self.scenario.applicants else 0

    @property
    def observation_size(self) -> int:
        return int(self.params.observation_size)

    @property
    def _sizes(self) -> dict[str, int]:
        p = self.params
        return {
            "groups": p.num_groups,
            "scores": p.num_scores,
            "population": p.population,
            "horizon": self.horizon,
        }

    def __repr__(self) -> str:
        return f"Env({self.name!r}, {', '.join(f'{name}={size}' for name, size in self._sizes.items())})"

    def _repr_html_(self) -> str:
        return html_table(self.name, (), [(name, f"{size:,}") for name, size in self._sizes.items()])


# compiled, because one operation after the other they would take a second


@partial(jax.jit, static_argnums=0)
def _reset(scenario: Scenario[P, S], key: Key[Array, ""], params: P) -> S:
    return scenario.reset(key, params)


@partial(jax.jit, static_argnums=0)
def _step(
    scenario: Scenario[P, S], key: Key[Array, ""], state: S, action: Int[Array, ""], params: P
) -> tuple[S, Step]:
    return scenario.step(key, state, action, params)


@partial(jax.jit, static_argnums=0)
def _observe(scenario: Scenario[P, S], state: S, params: P) -> Float[Array, "D"]:
    return scenario.observe(state, params)


def make(name: str, **params: Any) -> Env:
    """Make an environment by name.

    Args:
        name: one of `bisimulator list`, such as "lending".
        **params: parameters of the scenario; the defaults are the paper's.

    Returns:
        The environment, with checked parameters.

    Raises:
        ValueError: if the name is unknown or a value is wrong.
        TypeError: if the scenario has no such parameter.

    Example:
        >>> make("lending", population=500)
        Env('lending', groups=2, scores=7, population=500, horizon=10000)
    """
    scenario: Scenario = registry.lookup("environment", name)
    check_keywords(f"environment {name!r}", params, inspect.signature(scenario.make_params).parameters)
    return Env(name, scenario, scenario.make_params(**params), params)


def set_omega(params: P, omega: Float[Array, "G K"]) -> P:
    """The same params with other observation dynamics; works on traced arrays."""
    changed: P = eqx.tree_at(lambda p: p.omega, params, omega)
    return changed


def require_env(env: object) -> None:
    """Raise a TypeError unless it is an environment from `make`."""
    if not isinstance(env, Env):
        example = env if isinstance(env, str) else "lending"
        raise TypeError(
            f"env must come from bisimulator.make, got {shown(env)}; pass bisimulator.make({example!r})"
        )
