"""A person in lending as a finite Markov chain, for certificates and frontiers."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from bisimulator.core import PersonChain, Values
from bisimulator.envs._lending_params import Params
from bisimulator.envs._lending_people import DEFAULTED, GROUP, OBSERVED, REPAID, TRUE, describe

_QUADRATURE_NODES = 32


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
        score_up=int(params.score_up),
        score_down=int(params.score_down),
        reward_repaid=float(params.reward_repaid),
        reward_default=float(params.reward_default),
        population=params.population,
        horizon=int(params.horizon),
        num_scores=params.num_scores,
    )


def _normalised(probs: Float[Array, "... K"]) -> Float[Values, "... K"]:
    """float32 probabilities as float64 ones that sum to 1 again."""
    exact = np.asarray(probs, np.float64)
    normalised: Values = exact / exact.sum(-1, keepdims=True)
    return normalised


def history_observations(params: Params, size: int) -> Float[Array, "G C k k D"]:
    """Observations of every group and score with `repaid` and `defaulted` past loans, each below `size`."""
    shape = (params.num_groups, params.num_scores, size, size)
    group, score, repaid, defaulted = np.indices(shape, dtype=np.float32)
    columns = {TRUE: score, OBSERVED: score, REPAID: repaid, DEFAULTED: defaulted, GROUP: group}
    person = np.zeros((*shape, 6), np.float32)
    for column, values in columns.items():
        person[..., column] = values
    return describe(jnp.asarray(person), params)


def true_omega(params: Params) -> Float[Array, "G 2"]:
    """The omega with which observed scores equal true scores."""
    moves = jnp.stack([params.score_up, params.score_down]).astype(jnp.float32)
    return jnp.tile(moves, (params.num_groups, 1))
