"""Exact values of policies that also look at an applicant's past loans, as agents on observations do.

A person is then a chain over (score, loans repaid, loans defaulted): still finite over an episode, but too large for
a metric, so such a certificate has exact values and gaps and no bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from bisimulator.core import Env
from bisimulator.errors import check_probabilities, check_shape
from bisimulator.exact.certificate import SIGNALS, Certificate, View, signals
from bisimulator.exact.chain import lending_params, normalised, repayment_given_latent
from bisimulator.exact.occupancy import visit_numbers

Array = NDArray[np.float64]


def most_visits(env: Env) -> int:
    """The number of visits to one person that an episode practically never exceeds (probability e-17)."""
    more, _ = visit_numbers(int(env.params.horizon), 1 / env.params.population)
    return int((more > 1e-17).sum())


def certify_history(env: Env, accept: Any) -> Certificate:
    """The certificate of pi(accept | group, score, repaid, defaulted), shape (G, C, K, K), K = most_visits(env)."""
    params, size = lending_params(env), most_visits(env)
    accept = check_probabilities("policy", accept, ndim=(4,))
    wanted = (env.num_groups, params.num_scores, size, size)
    check_shape("policy", accept, wanted, "groups x scores x repaid x defaulted")
    totals = _totals(params, accept)
    nan, views = float("nan"), {}
    for signal in SIGNALS:
        values = totals[signal]
        gaps = abs(values[:, None] - values)
        g, h = sorted(int(i) for i in np.unravel_index(gaps.argmax(), gaps.shape))
        missing = np.full_like(gaps, nan)
        views[signal, "episode"] = View(
            signal,
            "episode",
            values,
            (g, h),
            float(gaps[g, h]),
            nan,
            nan,
            None,
            None,
            nan,
            nan,
            nan,
            gaps,
            missing,
        )
    return Certificate(env.name, nan, views)


def _totals(params: Any, accept: Float[Array, "G C K K"]) -> dict[str, Float[Array, "G"]]:
    """Expected sum of each signal per person of each group, visit by visit."""
    chance, weight = repayment_given_latent(params)
    more, _ = visit_numbers(int(params.horizon), 1 / params.population)
    more = more[more > 1e-17]
    groups, scores = accept.shape[:2]
    up = np.minimum(np.arange(scores) + int(params.score_up), scores - 1)
    down = np.maximum(np.arange(scores) - int(params.score_down), 0)
    totals = {signal: np.zeros(groups) for signal in SIGNALS}
    for repay, share in zip(chance, weight, strict=True):
        p = repay[:, :, None, None]
        per_visit = signals(p, accept, params)
        people = np.zeros(accept.shape)
        people[:, :, 0, 0] = normalised(params.initial)
        for come_again in more:
            for signal, value in per_visit.items():
                totals[signal] += share * come_again * (people * value).sum((1, 2, 3))
            lent = people * accept
            people = people - lent
            # nobody is at the last number of loans before the last visit, so nothing falls off the edge
            for c in range(scores):
                people[:, up[c], 1:] += (lent * p)[:, c, :-1]
                people[:, down[c], :, 1:] += (lent * (1 - p))[:, c, :, :-1]
    return totals
