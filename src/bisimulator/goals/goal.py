"""A fairness goal: one demand or several, as text, JSON or objects."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from bisimulator._html import html_table
from bisimulator.errors import check_known, shown
from bisimulator.goals.demands import DEMANDS, Demand

_RAISE_ONLY = "raise-only"
_MAX_SWEEP = 1000  # goals


@dataclasses.dataclass(frozen=True)
class Goal:
    """A fairness goal: one or more demands, all of which a policy has to meet.

    Example:
        >>> Goal.parse("min-recall=0.9")
        >>> Goal.parse(["min-recall=0.9", "credit-gap=2.5,raise-only"])
    """

    demands: tuple[Demand, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.demands, tuple) or not all(isinstance(one, Demand) for one in self.demands):
            raise TypeError(
                f"a goal is made of demands, got {shown(self.demands)}; pass Goal.parse('min-recall=0.9')"
            )

    @classmethod
    def parse(cls, goal: str | Goal | Sequence[str]) -> Goal:
        """A goal from its text, `NAME=LEVEL` or `NAME=LEVEL,raise-only`; several texts are all demanded.

        Raises:
            ValueError: if a name is unknown or a level is out of range.
        """
        if isinstance(goal, Goal):
            return goal
        texts = goal.split() if isinstance(goal, str) else goal
        if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
            raise TypeError(f"a goal is a text or a list of texts, got {shown(goal)}; pass 'min-recall=0.9'")
        demands = tuple(_parse(text) for text in texts)
        if not demands:
            raise ValueError("got no goal; write NAME=LEVEL, such as min-recall=0.9")
        names = [demand.name for demand in demands]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"the goal asks for {name} twice; write it once, with one level")
        return cls(demands)

    @classmethod
    def sweep(cls, goals: str | Iterable[Goal | str]) -> list[Goal]:
        """One goal per level of `NAME=FROM:TO:STEP`, both ends included; or those of a list.

        Raises:
            ValueError: if a text has another form, or a level is out of range.

        Example:
            >>> Goal.sweep("min-recall=0.8:1:0.1")
            [Goal('min-recall=0.8'), Goal('min-recall=0.9'), Goal('min-recall=1')]
        """
        if isinstance(goals, str):
            return cls._levels(goals)
        if not isinstance(goals, Iterable):
            raise TypeError(
                f"a sweep of goals is a text or a list, got {shown(goals)}; try 'min-recall=0.7:1:0.05'"
            )
        return [cls.parse(goal) for goal in goals]

    @classmethod
    def _levels(cls, text: str) -> list[Goal]:
        name, _, rest = text.strip().partition("=")
        levels, *flags = rest.split(",")
        try:
            start, stop, step = (float(part) for part in levels.split(":"))
        except ValueError:
            raise ValueError(
                f"a sweep of goals is NAME=FROM:TO:STEP, got {text!r}; try min-recall=0.7:1:0.05"
            ) from None
        if not 0 < step < float("inf") or not start <= stop < start + _MAX_SWEEP * step:
            raise ValueError(
                f"a sweep of goals goes up in at most {_MAX_SWEEP} positive steps, got {text!r}; "
                "try min-recall=0.7:1:0.05"
            )
        count = int((stop - start) / step + 1e-9) + 1
        values = [round(start + i * step, 10) for i in range(count)]
        return [cls.parse(",".join([f"{name}={value!r}", *flags])) for value in values]

    @property
    def text(self) -> str:
        """The text that `parse` reads."""
        return " ".join(demand.text for demand in self.demands)

    def to_json(self) -> list[str]:
        return [demand.text for demand in self.demands]

    @property
    def needs_lives(self) -> bool:
        return any(demand.needs_lives for demand in self.demands)

    def _repr_html_(self) -> str:
        rows = [(demand.text, demand.summary) for demand in self.demands]
        return html_table("Goal", [], rows)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Goal({self.text!r})"


def _parse(text: str) -> Demand:
    name, equals, rest = text.strip().partition("=")
    value, *flags = rest.split(",")
    if name or equals:
        check_known("goal", name, DEMANDS)
    if not equals:
        raise ValueError(f"a goal is NAME=LEVEL, got {text!r}; try {name or 'min-recall'}=0.9")
    try:
        level = float(value)
    except ValueError:
        raise ValueError(f"the level of {name} must be a number, got {value!r}; try {name}=0.9") from None
    for flag in flags:
        check_known(f"option of the goal {name}", flag.strip(), [_RAISE_ONLY])
    return DEMANDS[name](level, raise_only=bool(flags))
