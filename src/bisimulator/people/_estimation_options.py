"""The options that `Population.from_csv`, `from_frame` and `from_table` share."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Sequence
from typing import TypedDict

from numpy.typing import ArrayLike

from bisimulator.errors import check_array, check_bool, check_int, check_known, check_real, shown


@dataclasses.dataclass(frozen=True, kw_only=True)
class EstimationOptions:
    """How scores are binned and repayment rates are estimated."""

    bins: int = 10  # number of bins
    binning: str = "equal-width"  # or "quantile": as many people in each bin
    edges: ArrayLike | None = None  # the edges of the bins, one more than bins; they replace `bins`
    score_range: tuple[float, float] | None = None  # lowest and highest possible score; None: [0, inf)
    groups: Sequence[str] | None = None  # which groups, in this order; None: all, the largest first
    per_group: bool = True  # estimate repayment rates per group; False: one rate for all groups
    shrinkage: float | None = None  # weight of the prior rate, in people; None: estimated from the data
    fewest: int = 50  # smaller groups raise a warning
    missing: str = "refuse"  # or "drop": drop rows with a missing value

    def __post_init__(self) -> None:
        check_known("missing", self.missing, ("refuse", "drop"))
        check_int("fewest", self.fewest, min=0)
        check_bool("per_group", self.per_group)
        _check_groups(self.groups)
        if self.shrinkage is not None:
            check_real("shrinkage", self.shrinkage, min=0)
        if self.score_range is not None:
            ends = check_array("score_range", self.score_range, ndim=(1,), hint="pass (300, 850)")
            if ends.shape != (2,) or ends[0] >= ends[1]:
                raise ValueError(
                    f"score_range must be (lowest, highest), got {self.score_range}; such as (300, 850)"
                )

    @property
    def score_bounds(self) -> tuple[float, float]:
        return (0.0, math.inf) if self.score_range is None else self.score_range


def _check_groups(groups: object) -> None:
    if isinstance(groups, str):
        raise TypeError(f"groups must be a sequence of names, got {shown(groups)}; pass ({shown(groups)},)")
    if groups is not None and not (
        isinstance(groups, Collection) and all(isinstance(name, str) for name in groups)
    ):
        raise TypeError(
            f"groups must be a sequence of names, got {shown(groups)}; pass names such as ('a', 'b')"
        )


class OptionKeywords(TypedDict, total=False):
    """The fields of `EstimationOptions` as keywords, for type checkers."""

    bins: int
    binning: str
    edges: ArrayLike | None
    score_range: tuple[float, float] | None
    groups: Sequence[str] | None
    per_group: bool
    shrinkage: float | None
    fewest: int
    missing: str
