"""What all figures share: paper and ink, lines in a method's look, labels that do not overlap, files."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from bisimulator.report.colours import readable
from bisimulator.report.scenes import Entry

INK, PALE, GRID = "#262626", "#6B6B6B", "#E4E4E4"
LABEL_SIZE = 7.5  # points
DPI = 150
_LINE_HEIGHT = 1.22
_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": PALE,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": PALE,
    "ytick.color": PALE,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "legend.frameon": False,
    "svg.hashsalt": "bisimulator",  # the same picture gives the same file
    "svg.fonttype": "path",
}


def style() -> AbstractContextManager[Any]:
    import matplotlib

    return matplotlib.rc_context(_STYLE)


def panels(rows: int, columns: int, *, width: float, height: float, title: str, **options: Any) -> Any:
    """(figure, axes (rows, columns)) of panels of the given size in inches, with room for a title above."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.07, wspace=0.03, hspace=0.03)
    figure = Figure(figsize=(columns * width, rows * height + 0.35), layout=layout)
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11.5, weight="bold")
    return figure, axes


def line(entry: Entry, **changes: Any) -> dict[str, Any]:
    """Keywords for `axes.plot`: the method's colour, line and width."""
    look = entry.style
    dashes: Any = (0, look.dash) if look.dash else "-"
    return {"color": look.colour, "linestyle": dashes, "linewidth": 1.5, **changes}


def point(entry: Entry, **changes: Any) -> dict[str, Any]:
    look = entry.style
    return {
        "color": look.colour,
        "marker": look.marker,
        "linestyle": "none",
        "markersize": 6.5,
        "markeredgecolor": "white",
        "markeredgewidth": 0.6,
        **changes,
    }


def spread(places: Sequence[float], gap: float, low: float, high: float) -> np.ndarray:
    """The places nearest to the given ones that lie `gap` apart, within [low, high], in the same order.

    Places that are too near are pooled into a block around their mean (isotonic regression). Where not all fit, they
    are spread evenly.
    """
    wanted = np.asarray(places, float)
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    if len(wanted) and steps[-1] > high - low:
        free = np.linspace(low, high, len(wanted))
    else:
        blocks: list[list[float]] = []  # [sum, number]
        for value in wanted[order] - steps:
            blocks.append([value, 1])
            while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
                total, number = blocks.pop()
                blocks[-1][0] += total
                blocks[-1][1] += number
        level = np.concatenate([np.full(int(n), total / n) for total, n in blocks]) if blocks else wanted
        free = np.clip(level, low, high - (steps[-1] if len(steps) else 0)) + steps
    result = np.empty(len(wanted))
    result[order] = free
    return result


def label_ends(axis: Any, ends: Sequence[tuple[float, str, str]], height: float) -> None:
    """Names to the right of a panel at (value, text, colour), moved apart where they would overlap.

    `height` is that of the panel in inches, about.
    """
    low, high = axis.get_ylim()
    shares = [float(np.clip((value - low) / (high - low), 0, 1)) for value, _, _ in ends]
    gap = LABEL_SIZE * _LINE_HEIGHT / (72 * height)
    for share, place, (_, text, colour) in zip(shares, spread(shares, gap, 0.0, 1.0), ends, strict=True):
        axis.annotate(
            text,
            xy=(1.0, share),
            xytext=(1.055, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize=LABEL_SIZE,
            color=readable(colour),
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.7,
                "shrinkA": 1.0,
                "shrinkB": 0.5,
                "relpos": (0.0, 0.5),
            },
            annotation_clip=False,
        )


def thousands(axis: Any) -> None:
    """Steps as 100k."""
    from matplotlib.ticker import FuncFormatter

    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1000:g}k" if x else "0"))


def encode(figure: Any, kind: str) -> bytes:
    """The file's bytes, the same each time."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    buffer = io.BytesIO()
    with style():
        metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(buffer, format=kind, dpi=DPI, metadata=metadata)
    return buffer.getvalue()
