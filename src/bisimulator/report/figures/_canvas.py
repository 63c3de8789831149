"""What all figures share: fonts and colours, lines in a method's style, and files."""

from __future__ import annotations

import io
import re
import textwrap
from contextlib import AbstractContextManager
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from bisimulator.core import Values
from bisimulator.report._by_scenario import JobEntry
from bisimulator.report._styles import Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    AxesGrid: TypeAlias = NDArray[Any]  # of Axes, (rows, columns)

Keywords: TypeAlias = dict[str, Any]  # of matplotlib's functions, which accept any

INK, PALE, GRID = "#262626", "#6B6B6B", "#E4E4E4"
DPI = 150
FORMATS = ("svg", "png", "pdf")
_MAX_LABELLED_GROUPS = 12
_LETTER_ASIDE = 22  # points from a panel's letter to its left edge
_NOTE_SIZE = 7.5  # points
_LETTERS_PER_INCH = 17  # of a note
_ROOM = 0.8  # of a category, for what is drawn side by side
_STYLE: dict[Any, Any] = {  # how matplotlib types the keys depends on its version
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
    "text.parse_math": False,  # a $ in the name of a group or a method is a dollar sign
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
    "svg.hashsalt": "bisimulator",  # the same figure gives the same file
    "svg.fonttype": "none",  # text stays text: it can be searched and read aloud
}
_METADATA: dict[str, Keywords] = {  # without dates and versions, so that the same figure gives the same file
    "svg": {"Date": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


_COORDINATE = re.compile(rb"[1-9]\d*\.\d+")  # 0.085 may be a scale and stays


def style() -> AbstractContextManager[None]:
    import matplotlib

    return matplotlib.rc_context(_STYLE)


def panels(
    rows: int, columns: int, *, width: float, height: float, title: str, note: str = "", **options: Any
) -> tuple[Figure, AxesGrid]:
    """Panels of the given size in inches, with a title above and a note below; `options` are those of subplots.

    Several panels have letters, by which a text can refer to them.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.07, wspace=0.03, hspace=0.03)
    figure = Figure(figsize=(columns * width, rows * height + (0.6 if note else 0.35)), layout=layout)
    axes: AxesGrid = figure.subplots(rows, columns, squeeze=False, **options)
    if rows * columns > 1:
        for letter, axis in zip(ascii_lowercase, axes.flat, strict=False):
            _write_letter(axis, letter)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11.5, weight="bold")
    if note:
        wide = int(columns * width * _LETTERS_PER_INCH)
        lines = [part for written in note.splitlines() for part in textwrap.wrap(written, wide)]
        figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=_NOTE_SIZE, color=PALE)
    return figure, axes


def _write_letter(axis: Axes, letter: str) -> None:
    """Left of the panel's title."""
    place: Keywords = {"xycoords": "axes fraction", "textcoords": "offset points"}
    axis.annotate(letter, (0, 1), (-_LETTER_ASIDE, 6), weight="bold", fontsize=10.5, **place)


def line(entry: JobEntry, **changes: Any) -> Keywords:
    """Keywords for `axes.plot`: the method's colour, line and width."""
    look = entry.style
    dashes = (0, look.dash) if look.dash else "-"
    return {"color": look.colour, "linestyle": dashes, "linewidth": 1.5, **changes}


def point(look: Style, **changes: Any) -> Keywords:
    return {
        "color": look.colour,
        "marker": look.marker,
        "linestyle": "none",
        "markersize": 6.5,
        "markeredgecolor": "white",
        "markeredgewidth": 0.6,
        **changes,
    }


def hollow(look: Style) -> Keywords:
    """The point of the paper's number."""
    edge = {"markerfacecolor": "none", "markeredgecolor": look.colour, "markeredgewidth": 0.9}
    return point(look, markersize=5, alpha=0.75, **edge)


def shade(axis: Axes, entry: JobEntry, x: ArrayLike, mean: Values, half: Values) -> None:
    """The interval around a line; nothing where it is unknown."""
    half = np.nan_to_num(half)
    axis.fill_between(x, mean - half, mean + half, color=entry.style.colour, alpha=0.14, linewidth=0)


def limits(
    values: ArrayLike,
    halves: ArrayLike,
    bounds: tuple[float | None, float | None] = (None, None),
    margin: float = 0.05,
) -> tuple[float, float]:
    """The range of an axis for values and their intervals, with a small margin.

    Intervals of few seeds can be far wider than the values are apart. They may make the range three times as wide and
    no more, and never exceed `bounds`. The page does the same.
    """
    value, half = np.asarray(values, float).ravel(), np.nan_to_num(np.asarray(halves, float).ravel())
    value, half = value[~np.isnan(value)], half[~np.isnan(value)]
    if value.size == 0:
        return 0.0, 1.0
    low, high, smallest, largest = (value - half).min(), (value + half).max(), value.min(), value.max()
    if largest - smallest > 1e-9:
        low, high = max(low, 2 * smallest - largest), min(high, 2 * largest - smallest)
    low, high = (
        max(low, low if bounds[0] is None else bounds[0]),
        min(high, high if bounds[1] is None else bounds[1]),
    )
    if high - low < 1e-9:
        low, high = low - 0.5 * (abs(low) or 1), high + 0.5 * (abs(high) or 1)
    return float(low - margin * (high - low)), float(high + margin * (high - low))


def labelled_groups(groups: int) -> list[int]:
    """The numbers of the groups that are labelled: all, or of many some, with the first and the last."""
    if groups <= _MAX_LABELLED_GROUPS:
        return list(range(1, groups + 1))
    return sorted({round(g) for g in np.linspace(1, groups, 10)})


def group_axis(axis: Axes, groups: int) -> None:
    axis.set_xticks(labelled_groups(groups))
    axis.set_xlabel("group")


def aside(i: int, number: int) -> float:
    """How far from the middle of a category the i-th of several points is drawn; no lines lead to other categories."""
    return min(_ROOM / number, 0.12) * (i - (number - 1) / 2)


def marker_size(size: float, groups: int) -> float:
    """The size of one marker per group: smaller where they would touch."""
    return size * min(1.0, 2 * _MAX_LABELLED_GROUPS / groups)


def thousands(axis: Axes) -> None:
    """Write steps as 100k."""
    from matplotlib.ticker import FuncFormatter

    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1000:g}k" if x else "0"))


def figure_format(path: Path) -> str:
    """The format that a file's name asks for, one of `FORMATS`."""
    kind = path.suffix.removeprefix(".")
    if kind not in FORMATS or path.is_dir():
        raise ValueError(
            f"the figure's file must end in .{', .'.join(FORMATS)}, got {path}; try {path}/figure.svg"
        )
    return kind


def encode(figure: Figure, kind: str) -> bytes:
    """The bytes of a file of one of the `FORMATS`, the same each time."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    buffer = io.BytesIO()
    with style():
        figure.savefig(buffer, format=kind, dpi=DPI, metadata=_METADATA[kind])
    figure.set_layout_engine("none")  # the layout is final now: the next format is quicker
    if kind == "svg":
        return _compact_svg(buffer.getvalue())
    return _few_colours(buffer) if kind == "png" else buffer.getvalue()


def _few_colours(png: io.BytesIO) -> bytes:
    """256 colours are enough for lines and letters, and take a third of the size."""
    from PIL import Image

    buffer = io.BytesIO()
    with Image.open(png) as image:
        image.convert("RGB").quantize(256).save(buffer, format="png", optimize=True)
    return buffer.getvalue()


def _to_a_tenth(number: re.Match[bytes]) -> bytes:
    return b"%.1f" % float(number[0])


def _compact_svg(svg: bytes) -> bytes:
    """Coordinates to a tenth of a point and no indentation, half the size; and fallbacks for the font."""
    svg = re.sub(rb"<[^>]*>", lambda tag: _COORDINATE.sub(_to_a_tenth, tag[0]), svg)  # text stays as it is
    svg = re.sub(rb"<!--.*?-->", b"", re.sub(rb"\n\s+", b"\n", svg))
    return svg.replace(b"'DejaVu Sans'", b"'DejaVu Sans', Verdana, sans-serif")  # none of them is wider
