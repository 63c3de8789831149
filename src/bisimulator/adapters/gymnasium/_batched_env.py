"""A batch of environments that step together: the compiled programs under both Gymnasium environments.

The random numbers of an environment depend on its own episode key alone, never on the rest of the batch. One half of
the key draws the people; the other half and t draw the outcome of decision t.
Shapes: E environments, P intervals of an episode, G groups, C scores, B bins of observed scores, D observation entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, UInt32
from numpy.typing import NDArray

from bisimulator.core import (
    COUNTS,
    TALLY,
    Env,
    Params,
    Scenario,
    State,
    Step,
    Tallies,
    count_row,
    score_histograms,
)
from bisimulator.simulation.episodes import CURVE_POINTS

_IMPL = "threefry2x32"  # explicit, so that a user's default does not change what a seed means

Indices: TypeAlias = Sequence[int] | NDArray[np.intp]
Histograms: TypeAlias = tuple[Float[Array, "*E G C"], Float[Array, "*E G B"]]


class EnvBatch(NamedTuple):
    """Everything that changes in a step, for all environments. It is donated: a step updates it in place."""

    state: State
    t: Int[Array, "E"]
    counts: Float[Array, "E P G 7"]  # `COUNTS` within each of P equal intervals of the episode
    tallies: (
        Tallies  # the same of decisions about all groups at once; empty if a decision is on one applicant
    )


# with the keys of the running episodes' decisions, which a step only reads
KeyedBatch: TypeAlias = tuple[EnvBatch, UInt32[Array, "E 2"]]


class StepResult(NamedTuple):
    """`core.Step` of every environment, as NumPy arrays that belong to the caller."""

    obs: NDArray[np.float32]
    next_self_obs: NDArray[np.float32]
    reward: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    group: NDArray[np.int64]
    qualified: NDArray[np.bool_]
    accepted: NDArray[np.bool_]
    cost: NDArray[np.float32]
    tallies: dict[str, NDArray[np.float32]]  # of each group, from decisions about all groups at once


def episode_key(rng: np.random.Generator) -> NDArray[np.uint32]:
    """The key of the next episode, drawn from a Gymnasium environment's generator."""
    return rng.integers(2**32, size=2, dtype=np.uint32)


def _start_episode(
    scenario: Scenario, key: UInt32[Array, "2"], params: Params, intervals: int
) -> tuple[EnvBatch, UInt32[Array, "2"]]:
    """One environment (no leading axis) at the start of an episode, and the key of the episode's decisions."""
    k_reset, k_steps = jax.random.split(jax.random.wrap_key_data(key, impl=_IMPL))
    counts = jnp.zeros((intervals, params.num_groups, len(COUNTS)))
    tallies = dict.fromkeys((*scenario.tallies, *(["steps"] * bool(scenario.tallies))), counts[..., 0])
    started = EnvBatch(scenario.reset(k_reset, params), jnp.int32(0), counts, tallies)
    return started, jax.random.key_data(k_steps)


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def _reset(
    scenario: Scenario,
    keyed: KeyedBatch,
    indices: Int[Array, "E"],
    number: int,
    keys: UInt32[Array, "E 2"],
    params: Params,
) -> tuple[KeyedBatch, Float[Array, "E D"]]:
    """Reset the first `number` environments of `indices`, one after the other; the others are not touched."""
    intervals = keyed[0].counts.shape[1]

    def reset_one(n: Int[Array, ""], keyed: KeyedBatch) -> KeyedBatch:
        new = _start_episode(scenario, keys[indices[n]], params, intervals)
        updated: KeyedBatch = jax.tree.map(lambda every, one: every.at[indices[n]].set(one), keyed, new)
        return updated

    keyed = jax.lax.fori_loop(0, number, reset_one, keyed)
    return keyed, jax.vmap(scenario.observe, (0, None))(keyed[0].state, params)


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def _step(
    scenario: Scenario,
    batch: EnvBatch,
    keys: UInt32[Array, "E 2"],
    action: Int[Array, "E"],
    params: Params,
) -> tuple[EnvBatch, Float[Array, "2 E D"], Float[Array, "7 E"], Tallies]:
    """One decision in every environment; `StepResult` in few arrays, because each returned array costs time."""

    def advance(
        env: EnvBatch, key: UInt32[Array, "2"], action: Int[Array, ""]
    ) -> tuple[EnvBatch, Step, Bool[Array, ""]]:
        state, step = scenario.step(_decision_key(key, env.t), env.state, action, params)
        accepted = scenario.accepts(action)
        interval = _interval(env.t, env.counts.shape[0], params.horizon)
        if step.tallies is None:
            row = count_row(accepted, step.qualified, step.reward, step.cost)
            counts, tallies = env.counts.at[interval, step.group].add(row), env.tallies
        else:
            counts, added = env.counts, {**step.tallies, "steps": jnp.ones(params.num_groups)}
            tallies = {name: total.at[interval].add(added[name]) for name, total in env.tallies.items()}
        return EnvBatch(state, env.t + 1, counts, tallies), step, accepted

    batch, step, accepted = jax.vmap(advance)(batch, keys, action)
    scalars = (step.reward, step.terminated, step.truncated, step.group, step.qualified, accepted, step.cost)
    observations = jnp.stack([step.obs, step.next_self_obs])
    return batch, observations, jnp.stack([x.astype(jnp.float32) for x in scalars]), step.tallies or {}


def _decision_key(key: UInt32[Array, "2"], t: Int[Array, ""]) -> Key[Array, ""]:
    """The key of decision t, counted up from the episode's.

    Threefry gives independent numbers for any two different keys (Salmon et al. 2011). Another round of it, as in
    `fold_in`, would add a tenth to the time of a step and nothing else.
    """
    decision_key: Key[Array, ""] = jax.random.wrap_key_data(key.at[1].add(t.astype(jnp.uint32)), impl=_IMPL)
    return decision_key


def _interval(t: Int[Array, ""], intervals: int, horizon: Int[Array, ""]) -> Int[Array, ""]:
    """Which of the equal intervals of the episode decision t belongs to."""
    # t * intervals would overflow in very long episodes, where intervals of whole steps are exact enough
    long = jnp.minimum(t // jnp.maximum(horizon // intervals, 1), intervals - 1)
    interval: Int[Array, ""] = jnp.where(horizon < 2**24, t * intervals // horizon, long)
    return interval


@partial(jax.jit, static_argnums=0)
def _score_histograms(
    scenario: Scenario, batch: EnvBatch, indices: Int[Array, "E"], number: int, params: Params
) -> Histograms:
    """People at each true and observed score in the first `number` environments of `indices`; zeros elsewhere."""

    def of_one(index: Int[Array, ""]) -> Histograms:
        snapshot = scenario.snapshot(jax.tree.map(lambda x: x[index], batch.state))
        true, observed = score_histograms(snapshot, params.num_groups, params.num_scores)
        return true.astype(jnp.float32), observed.astype(jnp.float32)

    def fill(n: Int[Array, ""], filled: Histograms) -> Histograms:
        updated: Histograms = jax.tree.map(
            lambda every, one: every.at[indices[n]].set(one), filled, of_one(indices[n])
        )
        return updated

    empty = jax.tree.map(lambda x: jnp.zeros((indices.size, *x.shape)), jax.eval_shape(of_one, indices[0]))
    histograms: Histograms = jax.lax.fori_loop(0, number, fill, empty)
    return histograms


class BatchedEnv:
    """`num_envs` environments with NumPy inputs and outputs. Batches of equal shapes share compiled code.

    With `group_blind`, the entries of observations that encode the group are 0.
    """

    def __init__(self, env: Env, num_envs: int, *, group_blind: bool = False) -> None:
        if group_blind and not env.scenario.applicants:
            raise ValueError(
                f"observations of {env.name!r} do not say whose turn it is, so group_blind=True would hide nothing; "
                "leave it out"
            )
        self.env, self.num_envs, self.group_blind = env, num_envs, group_blind
        intervals = min(CURVE_POINTS, int(env.params.horizon))
        example = jax.eval_shape(
            lambda key, params: _start_episode(env.scenario, key, params, intervals),
            np.zeros(2, np.uint32),
            env.params,
        )
        empty: KeyedBatch = jax.tree.map(lambda x: jnp.zeros((num_envs, *x.shape), x.dtype), example)
        self._batch, self._keys = empty

    def reset(self, indices: Indices, keys: NDArray[np.uint32]) -> NDArray[np.float32]:
        """Start episodes with these keys in the environments `indices`; returns the observations of all."""
        all_keys = np.zeros((self.num_envs, 2), np.uint32)
        all_keys[np.asarray(indices)] = keys
        (self._batch, self._keys), obs = _reset(
            self.env.scenario,
            (self._batch, self._keys),
            self._padded(indices),
            len(indices),
            all_keys,
            self.env.params,
        )
        return self._shown(np.asarray(obs))

    def _shown(self, obs: NDArray[np.float32]) -> NDArray[np.float32]:
        """A copy of observations as a policy may see them."""
        shown = obs.copy()
        if self.group_blind:
            shown[:, 1 : 1 + self.env.num_groups] = 0.0
        return shown

    def step(self, actions: NDArray[np.generic]) -> StepResult:
        """Decide on the current applicant of every environment, or on all groups."""
        self._batch, observations, scalars, tallies = _step(
            self.env.scenario, self._batch, self._keys, actions, self.env.params
        )
        obs, next_self_obs = np.asarray(observations)
        reward, terminated, truncated, group, qualified, accepted, cost = np.asarray(scalars)
        return StepResult(
            obs=self._shown(obs),
            next_self_obs=self._shown(next_self_obs),
            reward=reward.astype(np.float64),
            terminated=terminated.astype(np.bool_),
            truncated=truncated.astype(np.bool_),
            group=group.astype(np.int64),
            qualified=qualified.astype(np.bool_),
            accepted=accepted.astype(np.bool_),
            cost=cost.copy(),
            tallies={name: np.array(values) for name, values in tallies.items()},
        )

    def outcome(self, indices: Indices) -> dict[str, NDArray[np.float32]]:
        """The fields of `core.Outcome` so far, with a row per environment; zeros outside `indices`."""
        true_scores, observed_scores = _score_histograms(
            self.env.scenario, self._batch, self._padded(indices), len(indices), self.env.params
        )
        counts, tallies = self.counts(indices), self.tallies(indices)

        def of_all(values: NDArray[np.float32]) -> NDArray[np.float32]:
            every = np.zeros((self.num_envs, *values.shape[1:]), np.float32)
            every[indices] = values
            return every

        approved = tallies["supply"] if tallies else counts[..., COUNTS.index("approved")]
        total = counts.sum(1)
        if tallies:
            total[..., COUNTS.index("reward")] = tallies.pop("reward").sum(1)
        return {
            "counts": of_all(total),
            "true_scores": np.array(true_scores),
            "observed_scores": np.array(observed_scores),
            "approvals": of_all(approved.cumsum(1)),
            **{f"{TALLY}{name}": of_all(values.sum(1)) for name, values in tallies.items()},
        }

    def counts(self, indices: Indices) -> NDArray[np.float32]:
        """`COUNTS` of each interval of the running episodes, (indices, intervals, groups, 7)."""
        counts: NDArray[np.float32] = np.asarray(self._batch.counts)[np.asarray(indices)]
        return counts

    def tallies(self, indices: Indices) -> dict[str, NDArray[np.float32]]:
        """The tallies of each interval of the running episodes, (indices, intervals, groups)."""
        return {name: np.asarray(values)[np.asarray(indices)] for name, values in self._batch.tallies.items()}

    def _padded(self, indices: Indices) -> NDArray[np.int32]:
        """The indices in an array whose shape never changes, so that nothing compiles again."""
        padded = np.zeros(self.num_envs, np.int32)
        padded[: len(indices)] = indices
        return padded
