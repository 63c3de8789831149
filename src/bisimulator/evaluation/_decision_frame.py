"""The single decisions of evaluation episodes, as a data frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Key

from bisimulator._lazy import import_pandas
from bisimulator.core import Env, Params, Scenario
from bisimulator.policies import Policy
from bisimulator.simulation import evaluation_keys, in_batches

if TYPE_CHECKING:
    import pandas

COLUMNS = ("seed", "episode", "step", "group", "score", "accepted", "qualified", "reward")


def decision_frame(env: Env, policy: Policy, seeds: Sequence[int], episodes: int) -> pandas.DataFrame:
    """One row per decision, in time order within each episode, of the episodes that `evaluate` simulates."""
    if not env.scenario.applicants:
        raise ValueError(
            f"decisions() has one row per applicant, and a step of {env.name!r} decides on all groups at once; use "
            "by_group, or outcome.tallies"
        )
    keys = evaluation_keys(seeds, episodes)

    def run(keys: Key[Array, "B"]) -> dict[str, Array]:
        return _run(env.name, env.scenario, env.params, policy, keys, env.horizon)

    columns = in_batches(env, keys.reshape(-1), run)
    shape = (len(seeds), episodes, env.horizon)
    seed, episode, step = np.meshgrid(seeds, *map(np.arange, shape[1:]), indexing="ij")
    columns |= {"seed": seed, "episode": episode, "step": step}
    columns["group"] = np.asarray(env.group_names)[columns["group"]]
    valid = columns["valid"].reshape(-1)
    return import_pandas().DataFrame({name: columns[name].reshape(-1)[valid] for name in COLUMNS})


@eqx.filter_jit
def _run(
    name: str, scenario: Scenario, params: Params, policy: Policy, keys: Key[Array, "B"], horizon: int
) -> dict[str, Array]:
    env = Env(name, scenario, params)

    def one(key: Key[Array, ""]) -> dict[str, Array]:
        decisions, _ = policy.rollout(env, key, horizon)
        return {
            "group": decisions.group,
            "score": decisions.obs[:, 0] * max(params.num_scores - 1, 1),  # in points, as it was observed
            "accepted": scenario.accepts(decisions.action),
            "qualified": decisions.qualified,
            "reward": decisions.reward,
            "valid": decisions.valid,
        }

    return dict(jax.vmap(one)(keys))
