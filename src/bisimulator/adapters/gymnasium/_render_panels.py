"""The panels of a frame: people at each score, and rates over time. Shapes: P intervals, G groups, C scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bisimulator.core import SCORE_GRID, Env

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.typing import ColorType

INK, FAINT, GRID = "#222222", "#767676", "#E6E6E6"

Style: TypeAlias = dict[str, Any]  # matplotlib's keywords
Floats: TypeAlias = NDArray[np.floating[Any]]

# Okabe and Ito's colours, distinguishable with any colour vision; more groups than these get a colour map
_PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_ANIMATED: Style = {"animated": True, "clip_on": False}


def group_colours(groups: int) -> list[ColorType]:
    if groups <= len(_PALETTE):
        return list(_PALETTE[:groups])
    from matplotlib import colormaps

    return [tuple(colour) for colour in colormaps["viridis"](np.linspace(0, 0.88, groups)).tolist()]


class ScoresPanel:
    """One row per group: true scores as bars, observed ones as an outline, their means, the current applicant."""

    def __init__(self, axes: Axes, env: Env, colours: Sequence[ColorType]) -> None:
        self.axes, self._colours = axes, colours
        self._num_scores, groups = env.params.num_scores, env.num_groups
        self._base = np.arange(groups)[::-1].astype(float)  # group 1 on top
        self._add_labels(groups)
        edges = np.arange(self._num_scores + 1) - 0.5
        self._true, self._observed = [], []
        for base, colour in zip(self._base, colours, strict=True):
            start, style = np.full(self._num_scores, base), {"baseline": base, "color": colour, **_ANIMATED}
            self._true.append(axes.stairs(start, edges, fill=True, lw=0, alpha=0.35, **style))
            self._observed.append(axes.stairs(start, edges, lw=1.6, **style))
        dots: Style = {"s": min(42, 260 / groups), "edgecolors": colours, "zorder": 5, **_ANIMATED}
        zeros = np.zeros(groups)
        self._true_mean = axes.scatter(zeros, self._base, facecolors=colours, **dots)
        self._observed_mean = axes.scatter(zeros, self._base, facecolors="white", linewidths=1.6, **dots)
        marker: Style = {"marker": "v", "ms": min(10, 40 / groups + 5), "mec": "white", **_ANIMATED}
        self._applicant = axes.plot([], [], ls="", zorder=6, **marker)[0]

    @property
    def artists(self) -> list[Artist]:
        return [*self._true, *self._observed, self._observed_mean, self._true_mean, self._applicant]

    def update(self, true: Floats, observed: Floats, obs: NDArray[np.float32]) -> None:
        """`true` (G, C) and `observed` (G, grid): people at each score; `obs` of the current applicant."""
        points = np.arange(self._num_scores)
        people = np.maximum(true.sum(-1, keepdims=True), 1)
        true, observed = true / people, to_whole_scores(observed, points.size) / people
        height = 0.8 / max(true.max(), observed.max(), 0.4)
        for g, base in enumerate(self._base):
            self._true[g].set_data(base + height * true[g], baseline=base)
            self._observed[g].set_data(base + height * observed[g], baseline=base)
        self._true_mean.set_offsets(np.stack([true @ points, self._base], -1))
        self._observed_mean.set_offsets(np.stack([observed @ points, self._base], -1))
        score, group = float(obs[0]) * (points.size - 1), int(obs[1 : 1 + self._base.size].argmax())
        top = self._base[group] + height * max(true[group, round(score)], observed[group, round(score)])
        self._applicant.set_data([score], [top + min(0.35, 0.05 * self._base.size)])
        self._applicant.set_color(self._colours[group])

    def _add_labels(self, groups: int) -> None:
        axes, scores = self.axes, self._num_scores
        ticks = np.arange(0, scores, -(-scores // 12))
        axes.set(xlim=(-0.6, scores - 0.4), ylim=(-0.12, groups), yticks=[], xticks=ticks)
        axes.set_xlabel("score", color=FAINT)
        axes.set_title("Scores of the people", loc="left", size=11, color=INK, pad=24)
        legend = (
            "filled: true    line: observed    dots: means    \N{BLACK DOWN-POINTING TRIANGLE} next applicant"
        )
        axes.text(0, 1.025, legend, transform=axes.transAxes, size=8.5, color=FAINT)
        _mute(axes, spines=())
        name: Style = {"size": min(10.0, 90 / groups), "ha": "right", "weight": "bold"}
        for g, (base, colour) in enumerate(zip(self._base, self._colours, strict=True)):
            axes.axhline(base, color=GRID, lw=0.8, zorder=0)
            axes.text(-0.75, base + 0.12, f"Group {g + 1}", color=colour, **name)


class BenefitsPanel:
    """One row per group: what it needed so far as an outline, and what it received as a bar."""

    def __init__(self, axes: Axes, env: Env, colours: Sequence[ColorType]) -> None:
        self.axes, groups = axes, env.num_groups
        rows = np.arange(groups)[::-1]  # group 1 on top
        style: Style = {"height": 0.55, **_ANIMATED}
        self._demand = axes.barh(rows, 0, facecolor="none", edgecolor=colours, linewidth=1.6, **style)
        self._supply = axes.barh(rows, 0, color=colours, alpha=0.5, **style)
        size = min(10.0, 90 / groups)
        self._labels = [
            axes.text(0, row, "", va="center", color=INK, **{"size": size, **_ANIMATED}) for row in rows
        ]
        names = [f"Group {name}" if name.isdecimal() else name for name in env.group_names]
        axes.set(xlim=(0, 1), ylim=(-0.6, groups - 0.4), xticks=[], yticks=rows)
        axes.set_yticklabels(names, size=size, weight="bold")
        axes.set_title("What groups needed and received", loc="left", size=11, color=INK, pad=24)
        legend = "line: needed    filled: received"
        axes.text(0, 1.025, legend, transform=axes.transAxes, size=8.5, color=FAINT)
        _mute(axes, spines=())

    @property
    def artists(self) -> list[Artist]:
        return [*self._supply, *self._demand, *self._labels]

    def update(self, supply: Floats, demand: Floats) -> None:
        """Totals per group so far; the longest bar has a fixed length."""
        longest = max(float(supply.max()), float(demand.max()), 1.0) / 0.8
        for g, label in enumerate(self._labels):
            self._supply[g].set_width(supply[g] / longest)
            self._demand[g].set_width(demand[g] / longest)
            label.set_text(f"{supply[g]:,.0f} of {demand[g]:,.0f}")
            label.set_x(max(supply[g], demand[g]) / longest + 0.02)


class RatesPanel:
    """A rate over the episode so far, one line per group, each with its current value."""

    def __init__(self, axes: Axes, env: Env, colours: Sequence[ColorType], title: str) -> None:
        from matplotlib.ticker import MaxNLocator

        self.axes, self._horizon = axes, env.horizon
        axes.set(xlim=(0, self._horizon), ylim=(0, 1), yticks=(0, 0.5, 1), yticklabels=("0%", "50%", "100%"))
        axes.set_title(title, loc="left", size=11, color=INK, pad=9)
        axes.grid(axis="y", color=GRID, lw=0.8)
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
        _mute(axes, spines=("bottom",))
        few = len(colours) <= 4
        end: Style = {"marker": "o", "ms": 4.5, "markevery": [-1], "lw": 2 if few else 1.4, **_ANIMATED}
        self._lines = [axes.plot([], [], color=colour, **end)[0] for colour in colours]
        box = {"fc": "white", "ec": "none", "pad": 0.5}
        label: Style = {"size": 9, "va": "center", "bbox": box, **_ANIMATED}
        self._labels = [axes.text(0, 0, "", color=colour, **label) for colour in colours] if few else []

    @property
    def artists(self) -> list[Artist]:
        return [*self._lines, *self._labels]

    def update(self, t: int, part: Floats, whole: Floats) -> None:
        """Numerator and denominator of the rate (P, G) so far at the end of each interval of the episode."""
        rate = np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0)
        ends = np.ceil(np.arange(1, len(rate) + 1) * self._horizon / len(rate))
        reached = int(np.searchsorted(ends, t)) + 1 if t else 0
        times = np.minimum(ends[:reached], t)
        for g, line in enumerate(self._lines):
            line.set_data(times, rate[:reached, g])
        current = rate[reached - 1] if reached else np.full(len(self._lines), np.nan)
        heights = spread_apart(np.nan_to_num(current), 0.11)
        for label, value, height in zip(self._labels, current, heights, strict=False):
            label.set_text("" if np.isnan(value) else f"{value:.0%}")
            label.set_position((t + 0.025 * self._horizon, height))


def to_whole_scores(people: Floats, scores: int) -> Floats:
    """People on the fine grid of observed scores, shared between the two nearest whole scores."""
    place = np.arange(people.shape[-1]) / SCORE_GRID
    shared: Floats = people @ np.maximum(0, 1 - np.abs(place[:, None] - np.arange(scores)))
    return shared


def spread_apart(values: Floats, distance: float) -> Floats:
    """Label heights near the values and at least `distance` apart, so that they can be read."""
    order = np.argsort(values, kind="stable")
    heights = values[order].astype(float)
    for i in range(1, len(heights)):  # upwards from the lowest, then down again from the top
        heights[i] = max(heights[i], heights[i - 1] + distance)
    heights[-1] = min(heights[-1], 1)
    for i in reversed(range(len(heights) - 1)):
        heights[i] = min(heights[i], heights[i + 1] - distance)
    return heights[np.argsort(order)]


def _mute(axes: Axes, spines: tuple[str, ...]) -> None:
    """Grey labels, no tick marks, and only these spines."""
    for side, spine in axes.spines.items():
        spine.set_visible(side in spines)
        spine.set_color(FAINT)
    axes.tick_params(colors=FAINT, labelsize=9, length=0)
