"""The learned reward correction behind a NumPy face, for any environment and any solver.

It drives the hooks of `methods.bisimulator`, the ones that the library's own solvers use, with decisions that come from
anywhere. Shapes never change while it learns, so everything is compiled once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from jaxtyping import Array, Float, Int, Key
from numpy.typing import NDArray

from bisimulator.adapters._encoding import Encoding, Score
from bisimulator.adapters._options import facts, split_options
from bisimulator.adapters.group_info import offered
from bisimulator.core import Env
from bisimulator.errors import check_int
from bisimulator.methods.bisimulator import PPO_BISIMULATOR_REWARD, Bisimulator, Config, State
from bisimulator.methods.hooks import Transitions

BATCH = 512  # the paper's
_REWARD_ONLY = PPO_BISIMULATOR_REWARD.config


class Corrector:
    """R_phi for the decisions of one training: `record` them, `learn` from the newest, ask for the `correction`.

    Args:
      num_groups: how many groups there are.
      config: hyperparameters; by default those of `ppo-bisimulator-reward`.
      batch: on how many of the newest decisions it learns. Before there are as many it corrects nothing.
      score, group_entries, reject: see `Encoding`.
      omega, bounds: the observation parameters, where they are learned.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        num_groups: int,
        *,
        config: Config | None = None,
        batch: int = BATCH,
        score: Score = None,
        group_entries: Sequence[int] = (),
        reject: Any = None,
        omega: Any = None,
        bounds: tuple[Any, Any] = (0.0, 0.0),
        seed: int = 0,
    ):
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
        # scores and their bounds matter to the method only where it simulates our own scenarios
        self.method = Bisimulator(self.config, num_groups, 0, (0.0, 0.0))
        start = np.zeros((num_groups, 0), np.float32) if omega is None else np.asarray(omega, np.float32)
        self._key = jax.random.key(check_int("seed", seed, min=0))
        self._keys_used = 0
        self.state: State = _init(
            self.method, self.next_key(), self.encoding.size, self.encoding.num_actions, start
        )
        self.updates = 0  # how often it has learned
        self.recorded = 0  # how many decisions it has seen
        self._rows = np.zeros((self.batch, self.encoding.size), np.float32)
        self._action = np.zeros(self.batch, np.int32)
        self._reward = np.zeros(self.batch, np.float32)
        self._group = np.zeros(self.batch, np.int32)

    @classmethod
    def of(cls, env: Any, *, num_groups: int | None = None, **options: Any) -> Corrector:
        """For a Gymnasium environment, single or vector, that follows the convention of `adapters.groups`.

        `options`: those of the class, and the fields of `methods.bisimulator.Config`.
        """
        return cls(
            getattr(env, "single_observation_space", env.observation_space),
            getattr(env, "single_action_space", env.action_space),
            **facts(partial(offered, env), num_groups),
            **split_options(options, _REWARD_ONLY),
        )

    @property
    def omega(self) -> NDArray[np.float32]:
        return np.asarray(self.state.omega)

    def record(self, observations: Any, actions: Any, rewards: Any, groups: Any) -> None:
        """Decisions with one leading axis; those of group -1 are left out."""
        group = np.asarray(groups, np.int64)
        known = group >= 0
        self._check_groups(group)
        rows = self.encoding.rows(observations, np.where(known, group, 0))[known]
        action = self.encoding.actions(actions)[known]
        reward = np.asarray(rewards, np.float32)[known]
        for name, values in (("observations", rows), ("rewards", reward)):
            if not np.isfinite(values).all():
                raise ValueError(
                    f"{name} must be finite, got NaN or infinity; look where the environment makes them"
                )
        for at in range(0, len(rows), self.batch):
            part = slice(at, at + self.batch)
            place = (self.recorded + np.arange(len(rows[part]))) % self.batch
            self._rows[place], self._action[place] = rows[part], action[part]
            self._reward[place], self._group[place] = reward[part], group[known][part]
            self.recorded += len(place)

    def learn(self) -> bool:
        """Improve R_phi on the newest decisions; False where there are not enough of them yet."""
        if self.recorded < self.batch:
            return False
        if not self.encoding.settled:
            self._rows = self.encoding.settle(self._rows)
        self.state = _learn(
            self.method, self.next_key(), self.state, self._rows, self._action, self._reward, self._group
        )
        if not np.isfinite(self.state.j_rew):
            raise FloatingPointError(
                "the reward correction is not finite any more; bring rewards and observations to about 1 in size"
            )
        self.updates += 1
        return True

    def correction(self, observations: Any, actions: Any, groups: Any) -> NDArray[np.float32]:
        """alpha * R_phi of each decision; 0 for group -1, and for all before anything was learned."""
        group = np.asarray(groups, np.int64)
        if not self.updates or not group.size:
            return np.zeros(group.shape, np.float32)
        known = group >= 0
        self._check_groups(group)
        rows = self.encoding.rows(observations, np.where(known, group, 0))
        action = self.encoding.actions(actions)
        size = 1 << (group.size - 1).bit_length()  # few different shapes, so little is compiled
        rows = np.pad(rows, ((0, size - group.size), (0, 0)))
        action = np.pad(action, (0, size - group.size))
        out = np.asarray(_corrections(self.method, self.state, rows, action))[: group.size]
        return np.where(known, out, np.float32(0))

    def next_key(self) -> Key[Array, ""]:
        self._keys_used += 1
        return jax.random.fold_in(self._key, self._keys_used)

    def describe(self) -> dict[str, float]:
        """What is worth watching: the losses, and how much the gauge takes back from each action."""
        told = {"j_rew": float(self.state.j_rew), "j_dyn": float(self.state.j_dyn)}
        return told | {f"offset_{i}": float(x) for i, x in enumerate(self.state.offset)}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything that is learned, as plain arrays."""
        leaves = {f"state_{i:03d}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(self.state))}
        return {
            **leaves,
            "key": np.asarray(jax.random.key_data(self._key)),
            "keys_used": np.array(self._keys_used),
            "shift": self.encoding.shift,
            "scale": self.encoding.scale,
            "updates": np.array(self.updates),
            "recorded": np.array(self.recorded),
            "rows": self._rows,
            "action": self._action,
            "reward": self._reward,
            "group": self._group,
        }

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from what `arrays` gave."""
        wanted = self.arrays()
        for name in wanted:
            if name not in arrays:
                raise ValueError(f"{name} is missing; it was saved for another environment or configuration")
            if arrays[name].shape != wanted[name].shape:
                raise ValueError(
                    f"{name} has shape {arrays[name].shape} where {wanted[name].shape} is expected; "
                    "it was saved for another environment or configuration"
                )
        leaves = [jnp.asarray(arrays[name]) for name in sorted(wanted) if name.startswith("state_")]
        self.state = jax.tree.unflatten(jax.tree.structure(self.state), leaves)
        self._key = jax.random.wrap_key_data(jnp.asarray(arrays["key"]))
        self._keys_used = int(arrays["keys_used"])
        self.encoding.shift, self.encoding.scale = arrays["shift"], arrays["scale"]
        self.updates, self.recorded = int(arrays["updates"]), int(arrays["recorded"])
        self._rows, self._action = arrays["rows"].copy(), arrays["action"].copy()
        self._reward, self._group = arrays["reward"].copy(), arrays["group"].copy()

    def _check_groups(self, group: NDArray[np.int64]) -> None:
        if (group >= self.encoding.num_groups).any():
            raise ValueError(
                f"group must be below num_groups = {self.encoding.num_groups}, got {group.max()}; "
                "count groups from 0, or say how many there are with num_groups="
            )


@dataclasses.dataclass(frozen=True)
class _Params:
    omega: Float[Array, "G K"]


@dataclasses.dataclass(frozen=True)
class _Shapes:
    """All that the method asks of an environment when it starts."""

    observation_size: int
    num_actions: int
    params: _Params


@partial(jax.jit, static_argnums=(0, 2, 3))
def _init(
    method: Bisimulator, key: Key[Array, ""], size: int, num_actions: int, omega: Float[Array, "G K"]
) -> State:
    return method.init(key, cast(Env, _Shapes(size, num_actions, _Params(omega))), 1)


@partial(jax.jit, static_argnums=0)
def _learn(
    method: Bisimulator,
    key: Key[Array, ""],
    state: State,
    rows: Float[Array, "B D"],
    action: Int[Array, "B"],
    reward: Float[Array, "B"],
    group: Int[Array, "B"],
) -> State:
    batch = _transitions(rows, action, reward, group)
    return method.learn(key, state, jax.tree.map(lambda x: x[:, None], batch))[0]


@partial(jax.jit, static_argnums=0)
def _corrections(
    method: Bisimulator, state: State, rows: Float[Array, "B D"], action: Int[Array, "B"]
) -> Float[Array, "B"]:
    nothing = jnp.zeros(rows.shape[0])
    return method.reward(state, _transitions(rows, action, nothing, jnp.zeros_like(action)), ())


def _transitions(
    rows: Float[Array, "B D"], action: Int[Array, "B"], reward: Float[Array, "B"], group: Int[Array, "B"]
) -> Transitions:
    """What the correction looks at; the rest of a transition is nothing to it."""
    no = jnp.zeros(rows.shape[0], bool)
    return Transitions(rows, action, no, reward, rows, no, no, group, no, rows)
