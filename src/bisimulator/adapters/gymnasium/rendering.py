"""The picture of a running episode: the groups' scores, true and observed, and how they fare so far.

The axes are drawn once; a frame redraws only what moves, on the saved background.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from bisimulator.core import COUNTS, SCORE_GRID, Env
from bisimulator.errors import did_you_mean

if TYPE_CHECKING:
    from bisimulator.adapters.gymnasium._simulation import Simulation

RENDER_MODES = ("rgb_array", "human")
RENDER_FPS = 30

# Okabe and Ito's colours, told apart with any colour vision; more groups than these get a scale
_PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_INK, _FAINT, _GRID = "#222222", "#767676", "#E6E6E6"
_TOOLKITS = ("_tkinter", "PyQt6", "PySide6", "PyQt5", "PySide2", "wx", "gi")


def can_show_window() -> bool:
    """Whether there is a screen and a toolkit to open a window with."""
    desktop = sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    return bool(desktop) and (sys.platform == "darwin" or any(map(find_spec, _TOOLKITS)))


def shown_modes() -> list[str]:
    """The modes that work here: `human` only where a window can be shown."""
    return [mode for mode in RENDER_MODES if mode != "human" or can_show_window()]


def check_render_mode(mode: Any, known: Sequence[str]) -> None:
    if mode is None:
        return
    if mode not in known:
        raise ValueError(f"Unknown render_mode {mode!r}.{did_you_mean(mode, known)} Or leave it out.")
    if mode == "human" and not can_show_window():
        raise gymnasium.error.UnsupportedMode(
            'render_mode="human" needs a screen and a GUI toolkit (tkinter or Qt), and there is none here; '
            'use render_mode="rgb_array" and record the frames with gymnasium.wrappers.RecordVideo'
        )


def group_colours(groups: int) -> list[Any]:
    if groups <= len(_PALETTE):
        return list(_PALETTE[:groups])
    from matplotlib import colormaps

    return list(colormaps["viridis"](np.linspace(0, 0.88, groups)))


class Picture:
    """Draws one copy of a simulation at a time; 960 x 540 pixels."""

    def __init__(self, env: Env, *, window: bool = False):
        self._env, self._window = env, window
        self._figure = _new_figure(window)
        self._colours = group_colours(env.num_groups)
        self._heading(env)
        left, right = 0.11, 0.62
        self._scores = _Scores(self._figure.add_axes((left, 0.115, 0.42, 0.625)), env, self._colours)
        self._approval = _Rates(
            self._figure.add_axes((right, 0.50, 0.315, 0.27)), env, self._colours, "Approval rate so far"
        )
        self._recall = _Rates(
            self._figure.add_axes((right, 0.115, 0.315, 0.27)),
            env,
            self._colours,
            "Recall so far (of the qualified)",
        )
        self._approval.axes.tick_params(labelbottom=False)
        self._recall.axes.set_xlabel("decision", color=_FAINT)
        self._figure.canvas.draw()
        self._background = self._figure.canvas.copy_from_bbox(self._figure.bbox)

    def draw(self, simulation: Simulation, copy: int, obs: NDArray[np.float32]) -> NDArray[np.uint8] | None:
        """The frame of `copy`, whose waiting applicant shows `obs`; None when it went to a window."""
        outcome = {name: value[copy] for name, value in simulation.outcome([copy]).items()}
        parts = simulation.counts([copy])[0].cumsum(0)
        t = int(parts[-1, :, COUNTS.index("applied")].sum())
        self._status.set_text(f"decision {t:,} of {int(self._env.params.horizon):,}")
        self._return.set_text(f"return {outcome['counts'][:, COUNTS.index('reward')].sum():,.0f}")
        self._scores.update(outcome["true_scores"], outcome["observed_scores"], obs)
        self._approval.update(t, parts, "approved", "applied")
        self._recall.update(t, parts, "approved_qualified", "qualified")
        return self._paint()

    def close(self) -> None:
        if self._window:
            from matplotlib import pyplot

            pyplot.close(self._figure)

    def _heading(self, env: Env) -> None:
        title = env.name.replace("-", " ").capitalize()
        self._figure.text(0.03, 0.925, title, size=17, weight="bold", color=_INK)
        people = f"{env.params.population:,} people, {env.num_groups} group{'s' * (env.num_groups > 1)}"
        self._figure.text(0.03, 0.875, people, size=10, color=_FAINT)
        place: dict[str, Any] = {"ha": "right", "animated": True}
        self._status = self._figure.text(0.97, 0.925, "", size=13, color=_INK, **place)
        self._return = self._figure.text(0.97, 0.875, "", size=10, color=_FAINT, **place)

    def _paint(self) -> NDArray[np.uint8] | None:
        canvas = self._figure.canvas
        canvas.restore_region(self._background)
        for part in (self._status, self._return):
            self._figure.draw_artist(part)
        for panel in (self._scores, self._approval, self._recall):
            for artist in panel.artists:
                panel.axes.draw_artist(artist)
        if self._window:
            canvas.blit(self._figure.bbox)
            canvas.flush_events()
            return None
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()


class _Scores:
    """One row a group: true scores as bars, observed ones as an outline, their means, the waiting applicant."""

    def __init__(self, axes: Any, env: Env, colours: list[Any]):
        self.axes, self._env, self._colours = axes, env, colours
        groups, scores = env.num_groups, env.params.num_scores
        axes.set(xlim=(-0.6, scores - 0.4), ylim=(-0.12, groups), yticks=[], xticks=_ticks(scores))
        axes.set_xlabel("score", color=_FAINT)
        axes.set_title("Scores of the people", loc="left", size=11, color=_INK, pad=24)
        key = (
            "filled: true    line: observed    dots: means    \N{BLACK DOWN-POINTING TRIANGLE} next applicant"
        )
        axes.text(0, 1.025, key, transform=axes.transAxes, size=8.5, color=_FAINT)
        _quiet(axes, spines=())
        self._base = np.arange(groups)[::-1].astype(float)  # group 1 on top
        edges, size = np.arange(scores + 1) - 0.5, min(10.0, 90 / groups)
        moving: dict[str, Any] = {"animated": True, "clip_on": False}
        self._true, self._seen = [], []
        for g, (base, colour) in enumerate(zip(self._base, colours, strict=True)):
            axes.axhline(base, color=_GRID, lw=0.8, zorder=0)
            axes.text(
                -0.75, base + 0.12, f"Group {g + 1}", color=colour, size=size, ha="right", weight="bold"
            )
            at_start, shape = np.full(scores, base), {"baseline": base, "color": colour, **moving}
            self._true.append(axes.stairs(at_start, edges, fill=True, lw=0, alpha=0.35, **shape))
            self._seen.append(axes.stairs(at_start, edges, lw=1.6, **shape))
        dots: dict[str, Any] = {"s": min(42, 260 / groups), "edgecolors": colours, "zorder": 5, **moving}
        self._true_mean = axes.scatter(np.zeros(groups), self._base, facecolors=colours, **dots)
        self._seen_mean = axes.scatter(
            np.zeros(groups), self._base, facecolors="white", linewidths=1.6, **dots
        )
        arrow: dict[str, Any] = {
            "ls": "",
            "marker": "v",
            "ms": min(10, 40 / groups + 5),
            "mec": "white",
            **moving,
        }
        self._applicant = axes.plot([], [], zorder=6, **arrow)[0]

    @property
    def artists(self) -> list[Any]:
        return [*self._true, *self._seen, self._seen_mean, self._true_mean, self._applicant]

    def update(self, true: NDArray[Any], observed: NDArray[Any], obs: NDArray[np.float32]) -> None:
        points = np.arange(self._env.params.num_scores)
        people = np.maximum(true.sum(-1, keepdims=True), 1)
        true, observed = true / people, on_whole_scores(observed, points.size) / people
        room = 0.8 / max(true.max(), observed.max(), 0.4)
        for g, base in enumerate(self._base):
            self._true[g].set_data(base + room * true[g], baseline=base)
            self._seen[g].set_data(base + room * observed[g], baseline=base)
        self._true_mean.set_offsets(np.stack([true @ points, self._base], -1))
        self._seen_mean.set_offsets(np.stack([observed @ points, self._base], -1))
        score, group = float(obs[0]) * (points.size - 1), int(obs[1 : 1 + self._base.size].argmax())
        top = self._base[group] + room * max(true[group, round(score)], observed[group, round(score)])
        self._applicant.set_data([score], [top + min(0.35, 0.05 * self._base.size)])
        self._applicant.set_color(self._colours[group])


class _Rates:
    """A share in the course of the episode, a line a group, each with its present value."""

    def __init__(self, axes: Any, env: Env, colours: list[Any], title: str):
        self.axes, self._horizon = axes, int(env.params.horizon)
        axes.set(xlim=(0, self._horizon), ylim=(0, 1), yticks=(0, 0.5, 1), yticklabels=("0%", "50%", "100%"))
        axes.set_title(title, loc="left", size=11, color=_INK, pad=9)
        axes.grid(axis="y", color=_GRID, lw=0.8)
        axes.xaxis.set_major_locator(_locator())
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
        _quiet(axes, spines=("bottom",))
        moving: dict[str, Any] = {"animated": True, "clip_on": False}
        few = len(colours) <= 4
        end: dict[str, Any] = {"marker": "o", "ms": 4.5, "markevery": [-1], "lw": 2 if few else 1.4, **moving}
        self._lines = [axes.plot([], [], color=c, **end)[0] for c in colours]
        text: dict[str, Any] = {
            "size": 9,
            "va": "center",
            "bbox": {"fc": "white", "ec": "none", "pad": 0.5},
            **moving,
        }
        self._labels = [axes.text(0, 0, "", color=c, **text) for c in colours] if few else []

    @property
    def artists(self) -> list[Any]:
        return [*self._lines, *self._labels]

    def update(self, t: int, totals: NDArray[Any], part: str, whole: str) -> None:
        """`totals`: counts so far at the end of each part of the episode, (parts, groups, 7)."""
        share, of = totals[..., COUNTS.index(part)], totals[..., COUNTS.index(whole)]
        rate = np.divide(share, of, out=np.full(of.shape, np.nan), where=of > 0)
        ends = np.ceil(np.arange(1, len(rate) + 1) * self._horizon / len(rate))
        reached = int(np.searchsorted(ends, t)) + 1 if t else 0
        times = np.minimum(ends[:reached], t)
        for g, line in enumerate(self._lines):
            line.set_data(times, rate[:reached, g])
        now = rate[reached - 1] if reached else np.full(len(self._lines), np.nan)
        heights = spread_apart(np.nan_to_num(now), 0.11)
        for label, value, height in zip(self._labels, now, heights, strict=False):
            label.set_text("" if np.isnan(value) else f"{value:.0%}")
            label.set_position((t + 0.025 * self._horizon, height))


def on_whole_scores(people: NDArray[Any], scores: int) -> NDArray[Any]:
    """People on the fine grid of observed scores, shared between the two nearest whole scores."""
    place = np.arange(people.shape[-1]) / SCORE_GRID
    return people @ np.maximum(0, 1 - np.abs(place[:, None] - np.arange(scores)))


def spread_apart(values: NDArray[Any], least: float) -> NDArray[Any]:
    """Label heights near the values and at least `least` apart, so that they can be read."""
    order = np.argsort(values, kind="stable")
    heights = values[order].astype(float)
    for i in range(1, len(heights)):  # upwards from the lowest, then down again from the top
        heights[i] = max(heights[i], heights[i - 1] + least)
    heights[-1] = min(heights[-1], 1)
    for i in reversed(range(len(heights) - 1)):
        heights[i] = min(heights[i], heights[i + 1] - least)
    return heights[np.argsort(order)]


def _ticks(scores: int) -> NDArray[Any]:
    return np.arange(0, scores, -(-scores // 12))


def _locator() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(4, integer=True)


def _quiet(axes: Any, spines: tuple[str, ...]) -> None:
    for side, spine in axes.spines.items():
        spine.set_visible(side in spines)
        spine.set_color(_FAINT)
    axes.tick_params(colors=_FAINT, labelsize=9, length=0)


def _new_figure(window: bool) -> Any:
    size: dict[str, Any] = {"figsize": (9.6, 5.4), "dpi": 100, "facecolor": "white"}
    if not window:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(**size)
        FigureCanvasAgg(figure)
        return figure
    from matplotlib import pyplot

    figure = pyplot.figure("bisimulator", **size)
    if figure.canvas.required_interactive_framework is None:
        raise gymnasium.error.UnsupportedMode(
            f'render_mode="human" needs a window, and matplotlib\'s backend {pyplot.get_backend()!r} has none; '
            'set MPLBACKEND to "qtagg" or "tkagg", or use render_mode="rgb_array"'
        )
    pyplot.show(block=False)
    return figure
