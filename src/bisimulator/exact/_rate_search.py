"""One group's best stationary policy whose rate is at least a level, by sequential linear programming.

There is one demand, and each acceptance probability has bounds. A linear programme like that is solved by sorting. At
its optimum all probabilities but one are 0 or 1, which is true of the best policies as well, so few steps lead there.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from jaxtyping import Float

from bisimulator.core import Values
from bisimulator.exact._numba import compiled
from bisimulator.exact._stationary import StationaryGroup
from bisimulator.goals import Demand
from bisimulator.goals.moments import M

_MAX_STEPS = 300
_PRECISION = 1e-13  # of the largest value so far: what the next step must promise to be worth it
_MIN_RADIUS = 1e-9
_ROUNDING = 1e-11  # of a slack


class RateSearch:
    """Local search for one group and a demand on its rate, or none."""

    def __init__(self, group: StationaryGroup, demand: Demand | None) -> None:
        self._group = group
        reward, slack = np.zeros((2, M.FINAL + group.num_scores))
        reward[M.REWARD] = 1.0
        if demand is not None:
            slack[demand.numerator] += 1.0
            slack[demand.denominator] -= demand.level
        self._gains = group.gains(np.stack([reward, slack]))

    def best(self, starts: Iterable[Float[Values, "C"]]) -> Float[Values, "C"]:
        """The best of the local optima near all thresholds and some further starts.

        Of those that miss the demand, the one that misses it least; rounding is no miss.
        """
        scores = self._group.num_scores
        thresholds = np.tri(scores + 1, scores, -1)[:, ::-1]
        found = [self._improve(start) for start in (*thresholds, np.full(scores, 0.5), *starts)]
        accept, _ = max(found, key=lambda pair: (min(pair[1][1], -_ROUNDING), pair[1][0]))
        return accept

    def _improve(self, start: Float[Values, "C"]) -> tuple[Float[Values, "C"], Float[Values, "2"]]:
        """A local optimum near `start`, with its return and slack.

        Steps maximise the linearised return under the linearised demand in a box around the policy. The box grows
        after steps that keep what they promise, and shrinks after others.
        """
        accept, radius, price = start, 1.0, 1.0
        value, slope = self._group.weighted(accept, self._gains)
        for _ in range(_MAX_STEPS):
            low, high = np.maximum(-accept, -radius), np.minimum(1 - accept, radius)
            step, dual = _linear_step(slope[0], slope[1], value[1], low, high)
            price = max(price, 2 * dual)  # of a violation: more than the demand is worth
            promised = slope[0] @ step + price * (min(value[1] + slope[1] @ step, 0.0) - min(value[1], 0.0))
            if promised <= _PRECISION * max(abs(value[0]), 1.0):
                break
            candidate = np.clip(accept + step, 0.0, 1.0)
            there, slope_there = self._group.weighted(candidate, self._gains)
            kept = there[0] - value[0] + price * (min(there[1], 0.0) - min(value[1], 0.0))
            if kept >= 0.1 * promised:
                accept, value, slope = candidate, there, slope_there
            radius = min(2 * radius, 1.0) if kept >= 0.7 * promised else 0.5 * float(abs(step).max())
            if radius < _MIN_RADIUS:
                break
        return accept, value


@compiled
def _linear_step(
    gain: Values, relief: Values, slack: float, low: Values, high: Values
) -> tuple[Values, float]:
    """The step within bounds that maximises `gain @ step` subject to `slack + relief @ step >= 0`, and its dual price.

    If no step reaches that, the one that comes closest.
    """
    step, other = np.zeros(len(gain)), np.zeros(len(gain))
    ratio = np.full(len(gain), np.inf)
    for c in range(len(gain)):
        best = gain[c] if gain[c] != 0 else relief[c]
        if best > 0:
            step[c], other[c] = high[c], low[c]
        elif best < 0:
            step[c], other[c] = low[c], high[c]
        slack += relief[c] * step[c]
        if relief[c] * (other[c] - step[c]) > 0:
            ratio[c] = abs(gain[c] / relief[c])
    dual = 0.0
    for c in np.argsort(ratio):
        if slack >= 0 or ratio[c] == np.inf:
            break
        dual, change = ratio[c], other[c] - step[c]
        if slack + relief[c] * change > 0:
            change = -slack / relief[c]
        step[c] += change
        slack += relief[c] * change
    return step, dual
