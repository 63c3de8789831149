"""Many copies of one environment side by side: the compiled programs under both Gymnasium environments.

A copy's random numbers depend on its own episode key alone, never on the other copies: the people come from
one half of the key, decision t from the other half and t.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, UInt32
from numpy.typing import NDArray

from bisimulator.core import COUNTS, Env, Scenario, State, Step, count_row, score_histograms
from bisimulator.simulation.episodes import CURVE_POINTS

_IMPL = "threefry2x32"  # named, so that a user's default does not change what a seed means


class Copies(NamedTuple):
    """Everything that moves, with a leading axis E of copies. Donated: a step changes it in place."""

    state: State
    t: Int[Array, "E"]
    counts: Float[Array, "E P G 7"]  # `COUNTS` within each of P equal parts of the episode


# with the keys of the running episodes' decisions, which a step only reads
Begun = tuple[Copies, UInt32[Array, "E 2"]]


class Decided(NamedTuple):
    """`core.Step` of every copy as NumPy arrays that belong to the caller."""

    obs: NDArray[np.float32]
    next_self_obs: NDArray[np.float32]
    reward: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    group: NDArray[np.int64]
    qualified: NDArray[np.bool_]
    cost: NDArray[np.float32]


def episode_key(rng: np.random.Generator) -> NDArray[np.uint32]:
    """The next episode's key from a Gymnasium environment's stream."""
    return rng.integers(2**32, size=2, dtype=np.uint32)


def _fresh(
    scenario: Scenario, key: UInt32[Array, "2"], params: Any, points: int
) -> tuple[Copies, UInt32[Array, "2"]]:
    """One copy (no leading axis) at the start of an episode, and the key of the episode's decisions."""
    k_reset, k_steps = jax.random.split(jax.random.wrap_key_data(key, impl=_IMPL))
    counts = jnp.zeros((points, params.num_groups, len(COUNTS)))
    return Copies(scenario.reset(k_reset, params), jnp.int32(0), counts), jax.random.key_data(k_steps)


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def _reset(
    scenario: Scenario,
    begun: Begun,
    which: Int[Array, "E"],
    number: int,
    keys: UInt32[Array, "E 2"],
    params: Any,
) -> tuple[Begun, Float[Array, "E D"]]:
    """Start the first `number` copies of `which` anew, one after the other: nobody else's people are touched."""
    points = begun[0].counts.shape[1]

    def start(n: Int[Array, ""], begun: Begun) -> Begun:
        fresh = _fresh(scenario, keys[which[n]], params, points)
        return jax.tree.map(lambda every, one: every.at[which[n]].set(one), begun, fresh)

    begun = jax.lax.fori_loop(0, number, start, begun)
    return begun, jax.vmap(scenario.observe, (0, None))(begun[0].state, params)


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def _step(
    scenario: Scenario, copies: Copies, keys: UInt32[Array, "E 2"], action: Int[Array, "E"], params: Any
) -> tuple[Copies, Float[Array, "2 E D"], Float[Array, "6 E"]]:
    """One decision in every copy; `Decided` in two arrays, since each array that is handed over costs time."""

    def advance(copy: Copies, key: UInt32[Array, "2"], action: Int[Array, ""]) -> tuple[Copies, Step]:
        state, step = scenario.step(_decision_key(key, copy.t), copy.state, action, params)
        row = count_row(scenario.accepts(action), step.qualified, step.reward, step.cost)
        part = _part(copy.t, copy.counts.shape[0], params.horizon)
        counts = copy.counts.at[part, step.group].add(row)
        return Copies(state, copy.t + 1, counts), step

    copies, step = jax.vmap(advance)(copies, keys, action)
    narrow = (step.reward, step.terminated, step.truncated, step.group, step.qualified, step.cost)
    seen = jnp.stack([step.obs, step.next_self_obs])
    return copies, seen, jnp.stack([x.astype(jnp.float32) for x in narrow])


def _decision_key(key: UInt32[Array, "2"], t: Int[Array, ""]) -> Key[Array, ""]:
    """The key of decision t, counted up from the episode's.

    Threefry gives independent numbers for any two different keys (Salmon et al. 2011), so another round of it, as in
    `fold_in`, would only cost: a tenth of a step.
    """
    return jax.random.wrap_key_data(key.at[1].add(t.astype(jnp.uint32)), impl=_IMPL)


def _part(t: Int[Array, ""], points: int, horizon: Int[Array, ""]) -> Int[Array, ""]:
    """Which of the equal parts of the episode decision t belongs to."""
    # t * points would overflow in very long episodes, where whole parts are exact enough
    long = jnp.minimum(t // jnp.maximum(horizon // points, 1), points - 1)
    return jnp.where(horizon < 2**24, t * points // horizon, long)


@partial(jax.jit, static_argnums=0)
def _scores(
    scenario: Scenario, copies: Copies, which: Int[Array, "E"], number: int, params: Any
) -> tuple[Float[Array, "E G C"], Float[Array, "E G B"]]:
    """People at each true and observed score in the first `number` copies of `which`; zeros in the others."""

    def one(copy: Int[Array, ""]) -> tuple[Float[Array, "G C"], Float[Array, "G B"]]:
        snapshot = scenario.snapshot(jax.tree.map(lambda x: x[copy], copies.state))
        return score_histograms(snapshot, params.num_groups, params.num_scores)

    def fill(n: Int[Array, ""], filled: tuple) -> tuple:
        return jax.tree.map(lambda every, new: every.at[which[n]].set(new), filled, one(which[n]))

    empty = jax.tree.map(lambda x: jnp.zeros((which.size, *x.shape)), jax.eval_shape(one, which[0]))
    return jax.lax.fori_loop(0, number, fill, empty)


class Simulation:
    """`num` copies of an environment behind a NumPy face. Environments of equal shapes share compiled code."""

    def __init__(self, env: Env, num: int):
        self.env, self.num = env, num
        points = min(CURVE_POINTS, int(env.params.horizon))
        example = jax.eval_shape(
            lambda key, params: _fresh(env.scenario, key, params, points), np.zeros(2, np.uint32), env.params
        )
        self._copies, self._keys = jax.tree.map(lambda x: jnp.zeros((num, *x.shape), x.dtype), example)

    def reset(self, which: Sequence[int] | NDArray[Any], keys: NDArray[np.uint32]) -> NDArray[np.float32]:
        """Start the copies `which` with these episode keys; the observations of all copies."""
        places = self._padded(which)
        every = np.zeros((self.num, 2), np.uint32)
        every[np.asarray(which)] = keys
        (self._copies, self._keys), obs = _reset(
            self.env.scenario, (self._copies, self._keys), places, len(which), every, self.env.params
        )
        return np.array(obs)

    def step(self, actions: NDArray[np.int32]) -> Decided:
        """Decide on every copy's applicant."""
        self._copies, seen, rest = _step(
            self.env.scenario, self._copies, self._keys, actions, self.env.params
        )
        obs, next_self_obs = np.asarray(seen)
        reward, terminated, truncated, group, qualified, cost = np.asarray(rest)
        return Decided(
            obs=obs.copy(),
            next_self_obs=next_self_obs.copy(),
            reward=reward.astype(np.float64),
            terminated=terminated.astype(np.bool_),
            truncated=truncated.astype(np.bool_),
            group=group.astype(np.int64),
            qualified=qualified.astype(np.bool_),
            cost=cost.copy(),
        )

    def outcome(self, which: Sequence[int] | NDArray[Any]) -> dict[str, NDArray[np.float32]]:
        """The fields of `core.Outcome` for the copies `which` as they stand, in an array over all copies."""
        true, observed = _scores(
            self.env.scenario, self._copies, self._padded(which), len(which), self.env.params
        )
        counts = self.counts(which)
        approvals = np.zeros((self.num, *counts.shape[1:3]), np.float32)
        approvals[which] = counts[..., COUNTS.index("approved")].cumsum(1)
        total = np.zeros((self.num, *counts.shape[2:]), np.float32)
        total[which] = counts.sum(1)
        return {
            "counts": total,
            "true_scores": np.array(true),
            "observed_scores": np.array(observed),
            "approvals": approvals,
        }

    def counts(self, which: Sequence[int] | NDArray[Any]) -> NDArray[np.float32]:
        """`COUNTS` of each part of the running episodes, (which, parts, groups, 7)."""
        return np.asarray(self._copies.counts)[np.asarray(which)]

    def _padded(self, which: Sequence[int] | NDArray[Any]) -> NDArray[np.int32]:
        places = np.zeros(self.num, np.int32)
        places[: len(which)] = which
        return places
