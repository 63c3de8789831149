"""A person in lending as a finite Markov chain, for certificates and frontiers."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from bisimulator.core import Moves, PersonChain, Values
from bisimulator.envs._lending_moves import shifted
from bisimulator.envs._lending_params import Params
from bisimulator.envs._lending_people import DEFAULTED, GROUP, OBSERVED, REPAID, TRUE, describe

_QUADRATURE_NODES = 32
_describe = jax.jit(describe)  # one program instead of one per operation


def person_chain(params: Params) -> PersonChain:
    """A person's score as a Markov chain; conscientiousness becomes hidden types, by Gauss-Hermite quadrature."""
    repayment: Values = np.asarray(params.repayment, np.float64)[None]
    type_probs: Values = np.ones(1)
    if params.conscientiousness is not None:
        mean, sd = np.asarray(params.conscientiousness, np.float64)
        nodes, weights = np.polynomial.hermite_e.hermegauss(_QUADRATURE_NODES)
        latent = (mean + sd * nodes)[:, None, None]
        repayment, type_probs = np.clip((repayment + latent) / 2, 0, 1), weights / weights.sum()
    return PersonChain(
        initial=_normalised(params.initial),
        repayment=repayment,
        type_probs=type_probs,
        group_sizes=params.population * _normalised(params.group_probs),
        **_moves(params, repayment),
        reward_repaid=float(params.reward_repaid),
        reward_default=float(params.reward_default),
        population=params.population,
        horizon=int(params.horizon),
        num_scores=params.num_scores,
    )


def _moves(params: Params, repayment: Float[Values, "H G C"]) -> dict[str, Moves]:
    """Where scores go after a default, a repaid loan and a rejection."""
    nobody = Moves(np.zeros((params.num_scores, 0), np.int64), np.zeros((*repayment.shape, 0)))
    if params.moves is None:
        down, up = shifted(int(params.score_up), int(params.score_down), params.num_scores)[..., None]
        surely = np.ones((*repayment.shape, 1))
        return {"defaulted": Moves(down, surely), "repaid": Moves(up, surely), "rejected": nobody}
    tables, share = _normalised(params.moves), np.asarray(params.rejected_moves, np.float64)[:, None]
    defaulted, repaid = (
        Moves.from_table(np.broadcast_to(t, (*repayment.shape, t.shape[-1]))) for t in tables
    )
    rejected = (share * (1 - repayment))[..., None] * tables[0] + (share * repayment)[..., None] * tables[1]
    rejected *= 1 - np.eye(params.num_scores)  # who stays is not listed
    return {
        "defaulted": defaulted,
        "repaid": repaid,
        "rejected": Moves.from_table(rejected) if share.any() else nobody,
    }


def _normalised(probs: Float[Array, "... K"]) -> Float[Values, "... K"]:
    """float32 probabilities as float64 ones that sum to 1 again."""
    exact = np.asarray(probs, np.float64)
    normalised: Values = exact / exact.sum(-1, keepdims=True)
    return normalised


def history_observations(params: Params, size: int, groups: Sequence[int]) -> Float[Array, "g C k k D"]:
    """Observations at the start of some groups and every score, with `repaid` and `defaulted` loans below `size`."""
    shape = (len(groups), params.num_scores, size, size)
    group, score, repaid, defaulted = np.indices(shape, dtype=np.float32)
    group = np.asarray(groups, np.float32)[group.astype(np.int64)]
    columns = {TRUE: score, OBSERVED: score, REPAID: repaid, DEFAULTED: defaulted, GROUP: group}
    person = np.zeros((*shape, 6), np.float32)
    for column, values in columns.items():
        person[..., column] = values
    observations: Float[Array, "g C k k D"] = _describe(
        jnp.asarray(person), params, jnp.zeros(shape, jnp.int32)
    )
    return observations


def true_omega(params: Params) -> Float[Array, "G 2"]:
    """The omega with which observed scores equal true scores."""
    moves = jnp.stack([params.score_up, params.score_down]).astype(jnp.float32)
    return jnp.tile(moves, (params.num_groups, 1))
