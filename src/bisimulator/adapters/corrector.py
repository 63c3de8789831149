"""The learned reward correction with NumPy inputs and outputs, for any environment and any solver.

It calls the hooks of `methods.bisimulator`, like the library's own solvers, with decisions from anywhere. Shapes never
change while it learns, so everything is compiled once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from gymnasium.core import ActType, ObsType
from gymnasium.vector import VectorEnv
from jaxtyping import Array, Key
from numpy.typing import ArrayLike, NDArray

from bisimulator._html import html_table
from bisimulator.adapters import _compiled_correction as compiled
from bisimulator.adapters._encoding import Encoding, Observations, Score
from bisimulator.adapters._recent_decisions import RecentDecisions, StateDict
from bisimulator.adapters.group_info import (
    AttributeLookup,
    Bounds,
    check_finite,
    check_groups,
    env_attribute,
    group_spec,
)
from bisimulator.errors import MAX_SEED, check_int, check_keywords
from bisimulator.methods.bisimulator import PPO_BISIMULATOR_REWARD, Bisimulator, Config, State

BATCH = 512  # the paper's
_REWARD_ONLY: Config = PPO_BISIMULATOR_REWARD.config
_OWN_OPTIONS = frozenset({"batch", "score", "reject", "seed"})


class Corrector:
    """Learns the reward correction R_phi from decisions: `record` them, `learn`, and ask for the `correction`.

    Args:
        observation_space: of a single environment.
        action_space: of a single environment.
        num_groups: how many groups there are, at least 2.
        config: hyperparameters, by default those of `ppo-bisimulator-reward`.
        batch: how many of the most recent decisions it learns from. Before there are that many, it corrects nothing.
        score: what people are sorted by when groups are compared: an entry of the flattened observation, a key of a
            dict observation or a function of a batch of observations. By default the first entry.
        group_entries: entries of the flattened observation that only repeat the group.
        reject: the action that rejects a person, by default the first.
        omega: the observation parameters, if they are learned.
        bounds: the minimum and the maximum of omega.
        seed: of the correction's own random numbers.

    Raises:
        ValueError: if a value is wrong, or observations or actions cannot be compared.

    Example:
        >>> corrector = Corrector.from_env(env, alpha=2.0)
        >>> corrector.record(observations, actions, rewards, groups)
        >>> corrector.learn()
        True
        >>> rewards = rewards + corrector.correction(observations, actions, groups)
    """

    def __init__(
        self,
        observation_space: spaces.Space[object],
        action_space: spaces.Space[object],
        num_groups: int,
        *,
        config: Config | None = None,
        batch: int = BATCH,
        score: Score = None,
        group_entries: Sequence[int] = (),
        reject: ArrayLike | None = None,
        omega: ArrayLike | None = None,
        bounds: Bounds = (0.0, 0.0),
        seed: int = 0,
    ) -> None:
        self.encoding = Encoding(
            observation_space,
            action_space,
            num_groups,
            score=score,
            group_entries=group_entries,
            reject=reject,
        )
        self.config = config or _REWARD_ONLY
        self.batch = check_int("batch", batch, min=1)
        self.bounds = bounds
        # scores and their bounds matter to the method only when it simulates the library's own scenarios
        self.method = Bisimulator(self.config, num_groups, 0, (0.0, 0.0))
        start = np.zeros((num_groups, 0), np.float32) if omega is None else np.asarray(omega, np.float32)
        self._key = jax.random.key(check_int("seed", seed, min=0, max=MAX_SEED))
        self._keys_used = 0
        self.state: State = compiled.init_state(
            self.method, self.next_key(), self.encoding.size, self.encoding.num_actions, start
        )
        self.updates = 0  # how often it has learned
        self._recent = RecentDecisions(self.batch, self.encoding.size)

    @classmethod
    def from_env(
        cls,
        env: gymnasium.Env[ObsType, ActType] | VectorEnv[ObsType, ActType, Any],
        *,
        num_groups: int | None = None,
        **options: Any,
    ) -> Corrector:
        """A correction for a Gymnasium environment, single or vector, that names groups (`adapters.group_info`).

        Args:
            env: the environment.
            num_groups: how many groups there are, if the environment does not say so.
            **options: `batch`, `score`, `reject`, `seed` of the class, and fields of `methods.bisimulator.Config`.

        Raises:
            ValueError: if the environment does not say how many groups there are, or a value is wrong.
            TypeError: if there is no such option.

        Example:
            >>> Corrector.from_env(gymnasium.make("bisimulator/Lending-v0"), alpha=2.0, batch=256)
            Corrector(groups=2, actions=2, alpha=2, batch=256, recorded=0, updates=0)
        """
        observation_space, action_space = env.observation_space, env.action_space
        if isinstance(env, VectorEnv):
            observation_space, action_space = env.single_observation_space, env.single_action_space
        attribute = partial(env_attribute, env)
        checked = corrector_options(options, _REWARD_ONLY)
        return cls.from_attributes(observation_space, action_space, attribute, num_groups, checked)

    @classmethod
    def from_attributes(
        cls,
        observation_space: spaces.Space[object],
        action_space: spaces.Space[object],
        attribute: AttributeLookup,
        num_groups: int | None,
        options: Mapping[str, Any],
    ) -> Corrector:
        """For an environment whose attributes `attribute(name)` gives; `options` are keywords of the class."""
        spec = group_spec(attribute, num_groups)
        return cls(observation_space, action_space, **spec._asdict(), **options)

    @property
    def recorded(self) -> int:
        """How many decisions were recorded so far."""
        return self._recent.recorded

    @property
    def omega(self) -> NDArray[np.float32]:
        """The current observation parameters, (groups, parameters)."""
        return np.asarray(self.state.omega)

    def record(
        self, observations: Observations, actions: ArrayLike, rewards: ArrayLike, groups: ArrayLike
    ) -> None:
        """Remember decisions, to learn from the most recent ones.

        Args:
            observations: what was observed before each decision; arrays with one leading axis.
            actions: one action per decision.
            rewards: one reward per decision, as the environment gave it.
            groups: one group per decision, from 0; decisions of group -1 are left out.

        Raises:
            ValueError: if a group is unknown, or an observation or a reward is not finite.
        """
        group = np.asarray(groups, np.int64)
        known = group >= 0
        check_groups(group, self.encoding.num_groups)
        rows = self.encoding.rows(observations, np.where(known, group, 0))[known]
        action = self.encoding.actions(actions)[known]
        reward = np.asarray(rewards, np.float32)[known]
        check_finite("observations", rows)
        check_finite("rewards", reward)
        self._recent.add(rows, action, reward, group[known])

    def learn(self) -> bool:
        """Improve R_phi on the most recent decisions; returns False if there are not enough of them yet.

        Raises:
            FloatingPointError: if the loss is not finite any more.
        """
        recent = self._recent
        if not recent.is_full:
            return False
        if not self.encoding.is_fitted:
            recent.rows = self.encoding.fit_scaling(recent.rows)
        self.state = compiled.learn(
            self.method, self.next_key(), self.state, recent.rows, recent.action, recent.reward, recent.group
        )
        if not np.isfinite(self.state.j_rew):
            raise FloatingPointError(
                "the reward correction is not finite any more; scale rewards and observations to about 1, "
                "for example with gymnasium.wrappers.TransformReward"
            )
        self.updates += 1
        return True

    def correction(
        self, observations: Observations, actions: ArrayLike, groups: ArrayLike
    ) -> NDArray[np.float32]:
        """alpha * R_phi of each decision; 0 for group -1, and 0 for all before anything was learned.

        Args:
            observations: what was observed before each decision; arrays with one leading axis.
            actions: one action per decision.
            groups: one group per decision, from 0.
        """
        group = np.asarray(groups, np.int64)
        if not self.updates or not group.size:
            return np.zeros(group.shape, np.float32)
        known = group >= 0
        check_groups(group, self.encoding.num_groups)
        rows = self.encoding.rows(observations, np.where(known, group, 0))
        action = self.encoding.actions(actions)
        size = 1 << (group.size - 1).bit_length()  # few different shapes, so little is compiled
        rows = np.pad(rows, ((0, size - group.size), (0, 0)))
        action = np.pad(action, (0, size - group.size))
        values = np.asarray(compiled.corrections(self.method, self.state, rows, action))[: group.size]
        return np.where(known, values, np.float32(0))

    def next_key(self) -> Key[Array, ""]:
        """A random key that was not used before."""
        self._keys_used += 1
        return jax.random.fold_in(self._key, self._keys_used)

    def describe(self) -> dict[str, float]:
        """What is worth logging: the losses, and the offset that the gauge subtracts from each action."""
        losses = {"j_rew": float(self.state.j_rew), "j_dyn": float(self.state.j_dyn)}
        return losses | {f"offset_{i}": float(x) for i, x in enumerate(self.state.offset)}

    def state_dict(self) -> StateDict:
        """Everything that is learned, as plain arrays."""
        leaves = {f"state_{i:03d}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(self.state))}
        return {
            **leaves,
            "key": np.asarray(jax.random.key_data(self._key)),
            "keys_used": np.array(self._keys_used),
            "shift": self.encoding.shift,
            "scale": self.encoding.scale,
            "updates": np.array(self.updates),
            **self._recent.state_dict(),
        }

    def load_state_dict(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what `state_dict` returned.

        Raises:
            ValueError: if an array is missing or has another shape.
        """
        expected = self.state_dict()
        for name in expected:
            if name not in arrays:
                raise ValueError(f"{name} is missing; it was saved for another environment or configuration")
            if arrays[name].shape != expected[name].shape:
                raise ValueError(
                    f"{name} must have shape {expected[name].shape}, got {arrays[name].shape}; "
                    "it was saved for another environment or configuration"
                )
        leaves = [jnp.asarray(arrays[name]) for name in sorted(expected) if name.startswith("state_")]
        self.state = jax.tree.unflatten(jax.tree.structure(self.state), leaves)
        self._key = jax.random.wrap_key_data(jnp.asarray(arrays["key"]))
        self._keys_used = int(arrays["keys_used"])
        self.encoding.shift, self.encoding.scale = arrays["shift"], arrays["scale"]
        self.updates = int(arrays["updates"])
        self._recent.load_state_dict(arrays)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(groups={self.encoding.num_groups}, actions={self.encoding.num_actions}, "
            f"alpha={self.config.alpha:g}, batch={self.batch}, recorded={self.recorded}, updates={self.updates})"
        )

    def _repr_html_(self) -> str:
        return html_table(repr(self), [], [(name, f"{value:.4g}") for name, value in self.describe().items()])


def corrector_options(options: Mapping[str, Any], config: Config) -> dict[str, Any]:
    """A user's keywords as keywords of `Corrector`: fields of `Config` change the configuration."""
    fields = {field.name for field in dataclasses.fields(Config)}
    check_keywords("the Bisimulator", options, fields | _OWN_OPTIONS)
    changed = dataclasses.replace(config, **{k: v for k, v in options.items() if k in fields})
    return {"config": changed, **{k: v for k, v in options.items() if k in _OWN_OPTIONS}}
