"""What an episode amounts to per group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import equinox as eqx
from jaxtyping import Array, Float, Int

from bisimulator._html import code_html

# What a step or an episode adds up for every group, by name.
Tallies: TypeAlias = dict[str, Float[Array, "... G"]]

# What is counted per group, in this order, in the last axis of `Outcome.counts`.
COUNTS = ("applied", "approved", "qualified", "approved_qualified", "reward", "burden", "burdened")
TALLY = "tally_"  # how the names of tallies begin in `Outcome.arrays`
SCORE_GRID = 16  # grid points per score point of `Outcome.observed_scores`, because omega need not be whole


class Outcome(eqx.Module):
    """Per-group results of an episode, from which every metric is computed. Leading axes are free."""

    counts: Float[Array, "... G 7"]  # in double precision, as the scores
    true_scores: Float[Array, "... G C"]  # people at each score at the end
    observed_scores: Float[Array, "... G B"]  # the same on the grid of `SCORE_GRID`
    approvals: Int[Array, "... P G"]  # cumulative approvals, or supply, at P evenly spaced times
    tallies: Tallies | None = None  # of decisions about all groups at once; "steps" is how many there were

    def count(self, name: str) -> Float[Array, "... G"]:
        """A column of `counts`, or a tally."""
        if self.tallies is not None and name in self.tallies:
            return self.tallies[name]
        return self.counts[..., COUNTS.index(name)]

    @property
    def supply(self) -> Float[Array, "... G"]:
        """What each group received; of applicants, how many qualified ones were approved."""
        return self.count("approved_qualified" if self.tallies is None else "supply")

    @property
    def demand(self) -> Float[Array, "... G"]:
        """What each group needed; of applicants, how many were qualified."""
        return self.count("qualified" if self.tallies is None else "demand")

    @property
    def steps(self) -> Float[Array, "..."]:
        """How many decisions were made."""
        return self.count("applied").sum(-1) if self.tallies is None else self.count("steps")[..., 0]

    def arrays(self) -> dict[str, Array]:
        """All arrays by name, as `from_arrays` takes them."""
        flat = {
            name: getattr(self, name) for name in ("counts", "true_scores", "observed_scores", "approvals")
        }
        return flat | {f"{TALLY}{name}": values for name, values in (self.tallies or {}).items()}

    @staticmethod
    def from_arrays(arrays: Mapping[str, Any]) -> Outcome:
        """The outcome that `arrays` wrote."""
        plain = {name: values for name, values in arrays.items() if not name.startswith(TALLY)}
        tallies = {
            name.removeprefix(TALLY): values for name, values in arrays.items() if name.startswith(TALLY)
        }
        return Outcome(**plain, tallies=tallies or None)

    def _repr_html_(self) -> str:
        return code_html(repr(self))

    @property
    def people(self) -> Float[Array, "... G"]:
        return self.true_scores.sum(-1)
