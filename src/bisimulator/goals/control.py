"""Control of a goal during training: multipliers that follow the violations, and the reward correction they make.

With v_d the violation of demand d by the groups' rates (see `demands`), measured on the newest decisions,
    u_d <- max(0, u_d + eta v_d),    lambda_d = max(0, exp(u_d + k_p v_d) - 1)
(dual ascent as a PI controller: Stooke et al. 2020). Controlling the logarithm reacts in proportion to the multiplier,
so that the same gains serve where a multiplier of 0.1 is enough and where it takes 20. A solver that is paid r - sum
over d of lambda_d * d v_d / d decision maximises the Lagrangian of "the highest return that meets the goal".
Violations, rewards and groups are measured in units of their own size, so that the gains serve any currency, score and
number of people. The proportional gain is smaller for gaps (`Demand.gain`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from bisimulator.errors import check_options, check_real
from bisimulator.goals.demands import Demand
from bisimulator.goals.goal import Goal
from bisimulator.goals.moments import M


@dataclasses.dataclass(frozen=True)
class GoalConfig:
    """How the multipliers are controlled. Their unit is the root mean square of the rewards."""

    window: float = 20_000.0  # decisions over which the groups' rates and sizes are averaged
    recent: float = 1024.0  # decisions over which violations are measured: delay makes multipliers swing
    eta: float = 0.2  # integral gain: growth of log(1 + multiplier) in 512 decisions per unit of violation
    proportional: float = 8.0  # proportional gain: how strongly it reacts to the current violation
    largest_violation: float = 0.1  # a larger one counts as this, so that it neither overshoots nor winds up
    max_multiplier: float = 50.0  # the largest multiplier
    balanced: bool = True  # on lives, decide equally often about every group, however small it is

    def __post_init__(self) -> None:
        check_real("window", self.window, min=1)
        check_real("recent", self.recent, min=1)
        check_options(self)


_KNOWN = 1e-3  # of a decision: a group that was not seen for many windows demands nothing
_DECISIONS = 512  # decisions to which `eta` refers: PPO's batch


class ControlState(eqx.Module):
    # the levels of the goal; part of the state, so that all levels share one compiled program
    levels: tuple[Float[Array, ""], ...]
    squares: Float[Array, ""]  # sum of the squared rewards in the window
    sums: Float[Array, "G M"]  # moments of the decisions in the window
    recent: Float[Array, "G M"]  # moments of the newest decisions, which violations are measured on
    integral: tuple[Float[Array, "D"], ...]  # u, one array per demand of the goal
    multipliers: tuple[Float[Array, "D"], ...]


@dataclasses.dataclass(frozen=True)
class Controller:
    """Measures decisions and prices them; a decision is given by its moments (`goals.moments`) and its group."""

    goal: Goal
    config: GoalConfig
    num_groups: int
    num_scores: int
    shares: tuple[float, ...] | None = None  # of the groups; None: as often as they are decided about

    @property
    def num_moments(self) -> int:
        return M.FINAL + self.num_scores

    def init(self) -> ControlState:
        levels = tuple(jnp.float32(demand.level) for demand in self.goal.demands)
        zeros = tuple(jnp.zeros(demand.num_demands(self.num_groups)) for demand in self.goal.demands)
        sums = jnp.zeros((self.num_groups, self.num_moments))
        return ControlState(levels, jnp.zeros(()), sums, sums, zeros, zeros)

    def measure(
        self,
        state: ControlState,
        moments: Float[Array, "*B M"],
        group: Int[Array, "*B"],
        of_lives: Float[Array, "G M"] | None = None,
    ) -> ControlState:
        """Update the rates and the multipliers with decisions of the current policy.

        `of_lives` are better estimates of the newest decisions' moments, if there are any (`goals.lives`).
        """
        c, number = self.config, group.size
        new = jnp.zeros_like(state.sums).at[group.reshape(-1)].add(moments.reshape(number, -1))
        memory = math.exp(-number / c.window)
        squares = memory * state.squares + (moments[..., M.REWARD] ** 2).sum()
        recent = of_lives
        if recent is None:
            recent = math.exp(-number / c.recent) * state.recent + new
        measured = dataclasses.replace(state, squares=squares, sums=memory * state.sums + new, recent=recent)
        integral, multipliers = [], []
        for demand, slack, before in zip(
            self.goal.demands, self._slacks(state.levels, recent), state.integral, strict=True
        ):
            violation = -slack / self._magnitude(demand, measured)
            violation = jnp.clip(violation, -c.largest_violation, c.largest_violation)
            after = before + c.eta * number / _DECISIONS * violation
            integral.append(jnp.clip(after, 0.0, math.log1p(c.max_multiplier)))
            multiplier = jnp.expm1(integral[-1] + c.proportional * demand.gain * violation)
            multipliers.append(jnp.clip(multiplier, 0.0, c.max_multiplier))
        return dataclasses.replace(measured, integral=tuple(integral), multipliers=tuple(multipliers))

    def correction(
        self, state: ControlState, moments: Float[Array, "*B M"], group: Int[Array, "*B"]
    ) -> Float[Array, "*B"]:
        """What is added to the reward of each decision."""
        return (self.prices(state)[group] * self.features(moments)).sum(-1)

    @property
    def num_features(self) -> int:
        return int(self.features(jnp.zeros(self.num_moments)).size)

    def features(self, moments: Float[Array, "*B M"]) -> Float[Array, "*B F"]:
        """What the demands count of a decision: the numerators and the denominator of each one's rate."""
        columns = [
            part
            for demand in self.goal.demands
            for part in (demand.parts(moments), moments[..., demand.denominator, None])
        ]
        return jnp.concatenate(columns, -1)

    def prices(self, state: ControlState) -> Float[Array, "G F"]:
        """What a unit of every feature adds to the reward of a decision about each group.

        A decision moves its group's rate by (d numerator - rate * d denominator) / denominator. Multiplied with the
        number of decisions about the smallest group of a demand, this does not depend on how large the groups are.
        """
        columns, sums = [], self._with_shares(state.sums)
        for demand, multipliers in zip(self.goal.demands, state.multipliers, strict=True):
            whole, rates = sums[:, demand.denominator], demand.rates(sums, jnp)
            weights = multipliers * demand.sizes(sums[:, M.APPLIED], jnp)
            price = demand.pressure(weights, rates, jnp) / jnp.maximum(whole, _KNOWN)[:, None]
            price = price / self._magnitude(demand, state)
            columns += [price, -(price * rates).sum(-1, keepdims=True)]
        return jnp.concatenate(columns, -1) * _reward_size(state)

    def _with_shares(self, sums: Float[Array, "G M"]) -> Float[Array, "G M"]:
        """The moments as if groups were decided about as often as there are people in them."""
        if self.shares is None:
            return sums
        decided = sums[:, M.APPLIED]
        weight = jnp.asarray(self.shares) * decided.sum() / jnp.maximum(decided, _KNOWN)
        return sums * weight[:, None]

    def slacks(self, state: ControlState) -> list[Float[Array, "D"]]:
        """Of every demand, over the window."""
        return self._slacks(state.levels, state.sums)

    def _slacks(
        self, levels: tuple[Float[Array, ""], ...], sums: Float[Array, "G M"]
    ) -> list[Float[Array, "D"]]:
        return [
            demand.slack_at(level, demand.rates(sums, jnp), sums[:, demand.denominator] > _KNOWN, jnp)
            for demand, level in zip(self.goal.demands, levels, strict=True)
        ]

    def _magnitude(self, demand: Demand, state: ControlState) -> Float[Array, ""]:
        visits = state.sums[:, M.APPLIED].sum() / jnp.maximum(state.sums[:, M.PEOPLE].sum(), _KNOWN)
        magnitude = demand.magnitude(_reward_size(state), visits, self.num_scores)
        return jnp.maximum(magnitude, 1e-6)

    def _each(self, state: ControlState) -> Iterator[tuple[Demand, Float[Array, "D"], Float[Array, "D"]]]:
        """Every demand with its multipliers and slacks."""
        return zip(self.goal.demands, state.multipliers, self.slacks(state), strict=True)

    def describe(self, state: ControlState) -> dict[str, Array]:
        """Of every demand its multipliers and slacks."""
        described = {}
        for demand, multipliers, slack in self._each(state):
            described[f"multiplier/{demand.name}"] = multipliers
            described[f"slack/{demand.name}"] = slack
        return described

    def diagnostics(self, state: ControlState) -> dict[str, Array]:
        """Of every demand its largest multiplier and its violation."""
        found = {}
        for demand, multipliers, slack in self._each(state):
            found[f"multiplier/{demand.name}"] = multipliers.max()
            found[f"violation/{demand.name}"] = jnp.maximum(-slack.min(), 0.0)
        return found


def _reward_size(state: ControlState) -> Float[Array, ""]:
    """The root mean square of the rewards."""
    return jnp.sqrt(state.squares / jnp.maximum(state.sums[:, M.APPLIED].sum(), _KNOWN))
