"""What all figures share: paper and ink, lines in a method's look, files."""

from __future__ import annotations

import io
import re
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bisimulator.report._by_scenario import Entry

INK, PALE, GRID = "#262626", "#6B6B6B", "#E4E4E4"
DPI = 150
_MOST_GROUPS = 12  # that are written out
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
    "path.simplify_threshold": 0.3,  # pixels
    "svg.hashsalt": "bisimulator",  # the same picture gives the same file
    "svg.fonttype": "none",  # text stays text: it can be searched and read aloud
}


def style() -> AbstractContextManager[Any]:
    import matplotlib

    return matplotlib.rc_context(_STYLE)


def panels(
    rows: int, columns: int, *, width: float, height: float, title: str, note: str = "", **options: Any
) -> Any:
    """(figure, axes (rows, columns)) of panels of the given size in inches, a title above and a note below."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.07, wspace=0.03, hspace=0.03)
    figure = Figure(figsize=(columns * width, rows * height + (0.6 if note else 0.35)), layout=layout)
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11.5, weight="bold")
    if note:
        figure.supxlabel(note, x=0.01, ha="left", fontsize=7.5, color=PALE)
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


def hollow(entry: Entry) -> dict[str, Any]:
    """The same point where the paper has it."""
    edge = {"markerfacecolor": "none", "markeredgecolor": entry.style.colour, "markeredgewidth": 0.9}
    return point(entry, markersize=5, alpha=0.75, **edge)


def shade(axis: Any, entry: Entry, x: np.ndarray, mean: np.ndarray, half: np.ndarray) -> None:
    """The interval around a line; nothing where there is none."""
    half = np.nan_to_num(half)
    axis.fill_between(x, mean - half, mean + half, color=entry.style.colour, alpha=0.14, linewidth=0)


def limits(
    values: ArrayLike,
    halves: ArrayLike,
    bounds: tuple[float | None, float | None] = (None, None),
    air: float = 0.05,
) -> tuple[float, float]:
    """A range for values and their intervals with a little air.

    Intervals of few seeds can be far wider than the values are apart; they may make the range three times as wide and
    no more, and not reach beyond what is possible. The page does the same.
    """
    value, half = np.asarray(values, float).ravel(), np.nan_to_num(np.asarray(halves, float).ravel())
    value, half = value[~np.isnan(value)], half[~np.isnan(value)]
    if value.size == 0:
        return 0.0, 1.0
    low, high, least, most = (value - half).min(), (value + half).max(), value.min(), value.max()
    if most - least > 1e-9:
        low, high = max(low, 2 * least - most), min(high, 2 * most - least)
    low, high = (
        max(low, low if bounds[0] is None else bounds[0]),
        min(high, high if bounds[1] is None else bounds[1]),
    )
    if high - low < 1e-9:
        low, high = low - 0.5 * (abs(low) or 1), high + 0.5 * (abs(high) or 1)
    return float(low - air * (high - low)), float(high + air * (high - low))


def written_groups(groups: int) -> list[int]:
    """The numbers of groups that there is room to write out: all, or of many some, with the first and the last."""
    if groups <= _MOST_GROUPS:
        return list(range(1, groups + 1))
    return sorted({round(g) for g in np.linspace(1, groups, 10)})


def group_axis(axis: Any, groups: int) -> None:
    axis.set_xticks(written_groups(groups))
    axis.set_xlabel("group")


def marker_size(size: float, groups: int) -> float:
    """One a group: smaller where they would touch."""
    return size * min(1.0, 2 * _MOST_GROUPS / groups)


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
    figure.set_layout_engine("none")  # laid out now: the next format is quicker
    return _tidy(buffer.getvalue()) if kind == "svg" else _few_colours(buffer)


def _few_colours(png: io.BytesIO) -> bytes:
    """256 colours are enough for lines and letters, and a third of the size."""
    from PIL import Image

    buffer = io.BytesIO()
    with Image.open(png) as image:
        image.convert("RGB").quantize(256).save(buffer, format="png", optimize=True)
    return buffer.getvalue()


def _tidy(svg: bytes) -> bytes:
    """Places to a tenth of a point and no indentation, half the size; and a font for those who lack ours."""
    svg = re.sub(
        rb"[1-9]\d*\.\d+", lambda place: b"%.1f" % float(place[0]), svg
    )  # 0.085 may be a scale and stays
    svg = re.sub(rb"<!--.*?-->", b"", re.sub(rb"\n\s+", b"\n", svg))
    return svg.replace(b"'DejaVu Sans'", b"'DejaVu Sans', Verdana, sans-serif")  # none of them is wider
