"""Frames of a running episode: the groups' scores, approval rate and recall so far, or what they needed and received.

The axes are drawn once. A frame redraws only what changes, on the saved background.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol, cast

import gymnasium
import numpy as np
from numpy.typing import NDArray

from bisimulator.adapters.gymnasium._render_panels import (
    FAINT,
    INK,
    BenefitsPanel,
    RatesPanel,
    ScoresPanel,
    group_colours,
)
from bisimulator.core import COUNTS, Env
from bisimulator.errors import did_you_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.transforms import BboxBase

    from bisimulator.adapters.gymnasium._batched_env import BatchedEnv

RENDER_MODES = ("rgb_array", "human")
RENDER_FPS = 30

# The titles of the rates over time: of decisions about all groups, and of decisions on one applicant.
_RATES = (
    ("Share of what was needed so far", "Share of what was received so far"),
    ("Approval rate so far", "Recall so far (of the qualified)"),
)
_GUI_TOOLKITS = ("_tkinter", "PyQt6", "PySide6", "PyQt5", "PySide2", "wx", "gi")
_SIZE_INCHES, _DPI = (9.6, 5.4), 100


def can_show_window() -> bool:
    """Whether there is a screen and a GUI toolkit to open a window with."""
    desktop = sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    return bool(desktop) and (sys.platform == "darwin" or any(map(find_spec, _GUI_TOOLKITS)))


def available_render_modes() -> list[str]:
    """The modes that work on this machine: `human` only if a window can be opened."""
    return [mode for mode in RENDER_MODES if mode != "human" or can_show_window()]


def check_render_mode(mode: str | None, known: Sequence[str]) -> None:
    if mode is None:
        return
    if mode not in known:
        raise ValueError(f"Unknown render_mode {mode!r}.{did_you_mean(mode, known)} Or leave it out.")
    if mode == "human" and not can_show_window():
        raise gymnasium.error.UnsupportedMode(
            'render_mode="human" needs a screen and a GUI toolkit (tkinter or Qt), and there is none here; '
            'use render_mode="rgb_array" and record the frames with gymnasium.wrappers.RecordVideo'
        )


def check_can_render(mode: str | None, *, was_reset: bool) -> None:
    if mode is None:
        raise gymnasium.error.UnsupportedMode(
            'render() needs a render_mode, got None; make the environment with render_mode="rgb_array"'
        )
    if not was_reset:
        raise gymnasium.error.ResetNeeded("render() was called before reset(); call reset() first")


class _AggCanvas(Protocol):
    """A canvas of matplotlib's Agg, with or without a window; matplotlib has no types for it."""

    def draw(self) -> None: ...
    def copy_from_bbox(self, bbox: BboxBase) -> object: ...
    def restore_region(self, region: object) -> None: ...
    def blit(self, bbox: BboxBase) -> None: ...
    def flush_events(self) -> None: ...
    def buffer_rgba(self) -> memoryview: ...


class EpisodeRenderer:
    """Draws one environment of a batch at a time, in 960 x 540 pixels."""

    def __init__(self, env: Env, *, window: bool = False) -> None:
        self._env, self._window = env, window
        self._figure = _new_figure(window)
        self._canvas = cast("_AggCanvas", self._figure.canvas)
        self._add_heading()
        colours, right = group_colours(env.num_groups), 0.62
        left = self._figure.add_axes((0.11, 0.115, 0.42, 0.625))
        upper, lower = (self._figure.add_axes((right, bottom, 0.315, 0.27)) for bottom in (0.50, 0.115))
        titles = _RATES[env.scenario.applicants]
        self._upper, self._lower = (
            RatesPanel(axes, env, colours, title) for axes, title in zip((upper, lower), titles, strict=True)
        )
        self._scores = ScoresPanel(left, env, colours) if env.scenario.applicants else None
        self._benefits = None if env.scenario.applicants else BenefitsPanel(left, env, colours)
        upper.tick_params(labelbottom=False)
        lower.set_xlabel("decision", color=FAINT)
        self._canvas.draw()
        self._background = self._canvas.copy_from_bbox(self._figure.bbox)

    def draw(self, batch: BatchedEnv, index: int, obs: NDArray[np.float32]) -> NDArray[np.uint8] | None:
        """The frame of environment `index`, whose current applicant shows `obs`; None if it went to a window."""
        outcome = {name: value[index] for name, value in batch.outcome([index]).items()}
        if self._scores is not None:
            self._scores.update(outcome["true_scores"], outcome["observed_scores"], obs)
            counts = np.moveaxis(batch.counts([index])[0].cumsum(0), -1, 0)
            applied, approved, qualified, both = counts[:4]
            t = int(applied[-1].sum())
            self._upper.update(t, approved, applied)
            self._lower.update(t, both, qualified)
        if self._benefits is not None:
            tallies = {name: values[0].cumsum(0) for name, values in batch.tallies([index]).items()}
            demand, supply, t = tallies["demand"], tallies["supply"], int(tallies["steps"][-1, 0])
            self._benefits.update(supply[-1], demand[-1])
            self._upper.update(t, demand, np.broadcast_to(demand.sum(1, keepdims=True), demand.shape))
            self._lower.update(t, supply, np.broadcast_to(supply.sum(1, keepdims=True), supply.shape))
        self._status.set_text(f"decision {t:,} of {self._env.horizon:,}")
        self._return.set_text(f"return {outcome['counts'][:, COUNTS.index('reward')].sum():,.0f}")
        return self._paint()

    def close(self) -> None:
        if self._window:
            from matplotlib import pyplot

            pyplot.close(self._figure)

    def _add_heading(self) -> None:
        env, text = self._env, self._figure.text
        text(0.03, 0.925, env.name.replace("-", " ").capitalize(), size=17, weight="bold", color=INK)
        people = f"{env.params.population:,} people, {env.num_groups} group{'s' * (env.num_groups > 1)}"
        text(0.03, 0.875, people, size=10, color=FAINT)
        self._status = text(0.97, 0.925, "", size=13, color=INK, ha="right", animated=True)
        self._return = text(0.97, 0.875, "", size=10, color=FAINT, ha="right", animated=True)

    def _paint(self) -> NDArray[np.uint8] | None:
        self._canvas.restore_region(self._background)
        for heading in (self._status, self._return):
            self._figure.draw_artist(heading)
        panels = (self._scores, self._benefits, self._upper, self._lower)
        for panel in (panel for panel in panels if panel is not None):
            for artist in panel.artists:
                panel.axes.draw_artist(artist)
        if self._window:
            self._canvas.blit(self._figure.bbox)
            self._canvas.flush_events()
            return None
        return np.asarray(self._canvas.buffer_rgba())[..., :3].copy()


def _new_figure(window: bool) -> Figure:
    if not window:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=_SIZE_INCHES, dpi=_DPI, facecolor="white")
        FigureCanvasAgg(figure)
        return figure
    from matplotlib import pyplot

    figure = pyplot.figure("bisimulator", figsize=_SIZE_INCHES, dpi=_DPI, facecolor="white")
    if figure.canvas.required_interactive_framework is None:
        raise gymnasium.error.UnsupportedMode(
            f'render_mode="human" needs a window, and matplotlib\'s backend {pyplot.get_backend()!r} has none; '
            'set MPLBACKEND to "qtagg" or "tkagg", or use render_mode="rgb_array"'
        )
    pyplot.show(block=False)
    return figure
