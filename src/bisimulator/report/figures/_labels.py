"""Names beside lines and points, moved so that they overlap nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bisimulator.report._styles import readable

SIZE = 7.5  # points
_LINE_HEIGHT = 1.22
_NEAR = 12  # points from a name to its point, beyond which a leader is drawn
_RINGS = 26  # how far a free place is looked for, in lines up and down

Box = tuple[float, float, float, float]  # left, bottom, right, top


class Labelled(NamedTuple):
    """A point with its bars; without a text it is only to be kept clear."""

    x: float
    y: float
    x_half: float = 0.0
    y_half: float = 0.0
    text: str = ""
    colour: str = ""


def spread(places: Sequence[float], gap: float, low: float, high: float) -> np.ndarray:
    """The places nearest to the given ones that lie `gap` apart, within [low, high], in the same order.

    Places that are too near are pooled into a block around their mean (isotonic regression). Where not all fit, they
    are spread evenly.
    """
    wanted = np.asarray(places, float)
    if wanted.size == 0:
        return wanted
    order, steps = np.argsort(wanted, kind="stable"), gap * np.arange(len(wanted))
    if steps[-1] > high - low:
        free = np.linspace(low, high, len(wanted))
    else:
        free = np.clip(_increasing(wanted[order] - steps), low, high - steps[-1]) + steps
    result = np.empty(len(wanted))
    result[order] = free
    return result


def _increasing(values: np.ndarray) -> np.ndarray:
    """The nearest numbers that do not decrease: neighbours that do are replaced by their mean."""
    blocks: list[tuple[float, int]] = []
    for value in values:
        total, number = float(value), 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / number:
            earlier = blocks.pop()
            total, number = total + earlier[0], number + earlier[1]
        blocks.append((total, number))
    return np.concatenate([np.full(number, total / number) for total, number in blocks])


def label_ends(axis: Any, ends: Sequence[tuple[float, str, str]], height: float) -> None:
    """Names to the right of a panel at (value, text, colour), moved apart where they would overlap.

    `height` is that of the panel in inches, about.
    """
    low, high = axis.get_ylim()
    shares = [float(np.clip((value - low) / (high - low), 0, 1)) for value, _, _ in ends]
    gap = SIZE * _LINE_HEIGHT / (72 * height)
    for share, place, (_, text, colour) in zip(shares, spread(shares, gap, 0.0, 1.0), ends, strict=True):
        _leader(axis, (1.005, share), (1.045, place), colour)
        _write(axis, 1.055, float(place), text, colour)


def label_points(axis: Any, points: Sequence[Labelled]) -> None:
    """Names beside points, clear of all points, bars and names, each block at the nearest free place.

    Points that lie on each other share a block, a line each. A block that is far off gets a leader.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = axis.figure
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()  # places are in pixels, so that the layout must be final
    figure.set_layout_engine("none")
    unit, to_axes = figure.dpi / 72, axis.transAxes.inverted().transform
    pixels = {point: axis.transData.transform((point.x, point.y)) for point in points}
    taken = [box for point in points for box in _occupied(axis, point, unit)]
    for block in _blocks([point for point in points if point.text], pixels, 3 * unit):
        x, y = pixels[block[0]]
        texts = [_write(axis, 0, 0, point.text, point.colour) for point in block]
        extents = [text.get_window_extent(renderer) for text in texts]
        width, line = max(e.width for e in extents), SIZE * _LINE_HEIGHT * unit
        box = _free_place(x, y, (width, line * len(block)), axis.bbox.extents, taken, unit)
        taken.append(box)
        for i, text in enumerate(texts):
            text.set_position(to_axes((box[0], box[3] - (i + 0.5) * line)))
        near = box[0] - 2 * unit if box[0] > x else box[2] + 2 * unit, (box[1] + box[3]) / 2
        if np.hypot(near[0] - x, near[1] - y) > _NEAR * unit + (box[3] - box[1] - line) / 2:
            _leader(axis, to_axes((x, y)), to_axes(near), block[0].colour)


def _occupied(axis: Any, point: Labelled, unit: float) -> list[Box]:
    """What a point and its two bars cover, in pixels."""
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


def _blocks(points: Sequence[Labelled], pixels: Any, near: float) -> list[list[Labelled]]:
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
    x: float, y: float, size: tuple[float, float], frame: Sequence[float], taken: Sequence[Box], unit: float
) -> Box:
    """The nearest box beside (x, y) within the frame that overlaps nothing; the nearest one where there is none."""
    width, height = size
    places = []
    for ring in range(_RINGS):
        for up in (ring, -ring) if ring else (0,):
            aside, bottom = (8 + ring) * unit, y + up * 6 * unit - height / 2
            for left in (x + aside, x - aside - width):
                places.append((left, bottom, left + width, bottom + height))
    for a in places:
        inside = a[0] > frame[0] and a[2] < frame[2] and a[1] > frame[1] and a[3] < frame[3]
        if inside and all(a[0] > b[2] or a[2] < b[0] or a[1] > b[3] or a[3] < b[1] for b in taken):
            return a
    return places[0]


def _write(axis: Any, x: float, y: float, text: str, colour: str) -> Any:
    how = {"transform": axis.transAxes, "va": "center", "fontsize": SIZE, "color": readable(colour)}
    return axis.text(x, y, text, **how)


def _leader(axis: Any, start: Sequence[float], end: Sequence[float], colour: str) -> None:
    """A thin line from a value to its name."""
    from matplotlib.lines import Line2D

    xs, ys = zip(start, end, strict=True)
    how = {"color": colour, "linewidth": 0.6, "alpha": 0.8, "clip_on": False, "transform": axis.transAxes}
    axis.add_artist(Line2D(xs, ys, **how)).set_in_layout(False)  # the name beyond it makes the room
