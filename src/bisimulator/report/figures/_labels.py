"""Labels next to lines and points, moved so that they overlap nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from bisimulator.core import Values
from bisimulator.report._styles import readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

SIZE = 7.5  # points
_LINE_HEIGHT = 1.22
_MAX_LETTERS = 48  # of a label; longer ones would leave no room for the panel
_NEAR = 12  # points from a label to its point, beyond which a leader line is drawn
_RINGS = 26  # how far the search for a free place goes, in lines up and down

Box: TypeAlias = tuple[float, float, float, float]  # left, bottom, right, top


class Labelled(NamedTuple):
    """A point with its error bars; without a text it is only kept clear."""

    x: float
    y: float
    x_half: float = 0.0
    y_half: float = 0.0
    text: str = ""
    colour: str = ""


def spread(places: Sequence[float], gap: float, low: float, high: float) -> Values:
    """The places nearest to the given ones that lie `gap` apart, within [low, high], in the same order.

    Places that are too near are pooled into a block around their mean (isotonic regression). If not all fit, they are
    spread evenly.
    """
    given = np.asarray(places, np.float64)
    if given.size == 0:
        return given
    order, steps = np.argsort(given, kind="stable"), gap * np.arange(len(given))
    if steps[-1] > high - low:
        free = np.linspace(low, high, len(given))
    else:
        free = np.clip(_increasing(given[order] - steps), low, high - steps[-1]) + steps
    result = np.empty(len(given))
    result[order] = free
    return result


def _increasing(values: Values) -> Values:
    """The nearest numbers that do not decrease: neighbours that do are replaced by their mean."""
    blocks: list[tuple[float, int]] = []
    for value in values:
        total, number = float(value), 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / number:
            earlier = blocks.pop()
            total, number = total + earlier[0], number + earlier[1]
        blocks.append((total, number))
    return np.concatenate([np.full(number, total / number) for total, number in blocks])


def label_ends(axis: Axes, ends: Sequence[tuple[float, str, str]], height: float) -> None:
    """Labels to the right of a panel at (value, text, colour), moved apart where they would overlap.

    `height` is roughly that of the panel, in inches.
    """
    low, high = axis.get_ylim()
    shares = [float(np.clip((value - low) / (high - low), 0, 1)) for value, _, _ in ends]
    gap = SIZE * _LINE_HEIGHT / (72 * height)
    for share, place, (_, text, colour) in zip(shares, spread(shares, gap, 0.0, 1.0), ends, strict=True):
        _leader(axis, (1.005, share), (1.045, place), colour)
        _write(axis, 1.055, float(place), text, colour)


def label_points(axis: Axes, points: Sequence[Labelled], curve: Sequence[Labelled] = ()) -> None:
    """Labels next to points, clear of all points, bars and labels, each block at the nearest free place.

    Points that coincide share a block, with one line each. A block that is far off gets a leader line. Labels also
    keep clear of a `curve`, given by points close together, unless there is no such place.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = axis.get_figure(root=True)
    assert figure is not None
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    figure.draw_without_rendering()  # places are in pixels, so the layout must be final
    figure.set_layout_engine("none")
    unit, to_axes = figure.dpi / 72, axis.transAxes.inverted().transform
    pixels = {point: axis.transData.transform((point.x, point.y)) for point in points}
    taken = [box for point in points for box in _occupied(axis, point, unit)]
    on_curve = [box for point in curve for box in _occupied(axis, point, unit)]
    for block in _blocks([point for point in points if point.text], pixels, 3 * unit):
        x, y = pixels[block[0]]
        texts = [_write(axis, 0, 0, point.text, point.colour) for point in block]
        extents = [text.get_window_extent(renderer) for text in texts]
        width, line = max(e.width for e in extents), SIZE * _LINE_HEIGHT * unit
        box = _free_place(x, y, (width, line * len(block)), axis.bbox.extents, taken, on_curve, unit)
        taken.append(box)
        for i, text in enumerate(texts):
            text.set_position(tuple(to_axes((box[0], box[3] - (i + 0.5) * line))))
        near = box[0] - 2 * unit if box[0] > x else box[2] + 2 * unit, (box[1] + box[3]) / 2
        if np.hypot(near[0] - x, near[1] - y) > _NEAR * unit + (box[3] - box[1] - line) / 2:
            _leader(axis, to_axes((x, y)), to_axes(near), block[0].colour)


def _occupied(axis: Axes, point: Labelled, unit: float) -> list[Box]:
    """What a point and its two error bars cover, in pixels."""
    x, y, x_half, y_half = point[:4]
    (left, bottom), (right, top) = axis.transData.transform(
        [(x - x_half, y - y_half), (x + x_half, y + y_half)]
    )
    (px, py), dot, thin = axis.transData.transform((x, y)), 5 * unit, 1.5 * unit
    return [
        (px - dot, py - dot, px + dot, py + dot),
        (left - thin, py - thin, right + thin, py + thin),
        (px - thin, bottom - thin, px + thin, top + thin),
    ]


def _blocks(
    points: Sequence[Labelled], pixels: Mapping[Labelled, Values], near: float
) -> list[list[Labelled]]:
    blocks: list[list[Labelled]] = []
    for point in points:
        for block in blocks:
            if np.hypot(*(pixels[point] - pixels[block[0]])) < near:
                block.append(point)
                break
        else:
            blocks.append([point])
    return blocks


def _free_place(
    x: float,
    y: float,
    size: tuple[float, float],
    frame: Sequence[float],
    taken: Sequence[Box],
    on_curve: Sequence[Box],
    unit: float,
) -> Box:
    """The nearest box within the frame that overlaps nothing, else nothing but the curve; else the nearest box.

    If the curve is in the way next to (x, y), places further aside are tried first.
    """
    for slope, others in ((1, [*taken, *on_curve]), (6, [*taken, *on_curve]), (1, taken)):
        for a in _places(x, y, size, slope, unit):
            inside = a[0] > frame[0] and a[2] < frame[2] and a[1] > frame[1] and a[3] < frame[3]
            if inside and all(a[0] > b[2] or a[2] < b[0] or a[1] > b[3] or a[3] < b[1] for b in others):
                return a
    return _places(x, y, size, 1, unit)[0]


def _places(x: float, y: float, size: tuple[float, float], slope: float, unit: float) -> list[Box]:
    """Boxes next to (x, y), the nearest first; with every line up or down, `slope` points further aside."""
    (width, height), places = size, []
    for ring in range(_RINGS):
        for up in (ring, -ring) if ring else (0,):
            aside, bottom = (8 + slope * ring) * unit, y + up * 6 * unit - height / 2
            for left in (x + aside, x - aside - width):
                places.append((left, bottom, left + width, bottom + height))
    return places


def _write(axis: Axes, x: float, y: float, text: str, colour: str) -> Text:
    return axis.text(
        x,
        y,
        text if len(text) <= _MAX_LETTERS else f"{text[: _MAX_LETTERS - 1]}…",
        transform=axis.transAxes,
        va="center",
        fontsize=SIZE,
        color=readable(colour),
        parse_math=False,
    )


def _leader(axis: Axes, start: ArrayLike, end: ArrayLike, colour: str) -> None:
    """A thin line from a value to its label."""
    from matplotlib.lines import Line2D

    xs, ys = np.stack([np.asarray(start, float), np.asarray(end, float)], axis=1)
    line = Line2D(xs, ys, color=colour, linewidth=0.6, alpha=0.8, clip_on=False, transform=axis.transAxes)
    axis.add_artist(line).set_in_layout(False)  # the label beyond it makes the room
