"""Labels are moved no further than needed, and overlap nothing."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bisimulator.report.figures import _canvas as canvas
from bisimulator.report.figures._labels import Labelled, label_ends, label_points, spread

places = st.lists(st.floats(0, 1), min_size=1, max_size=8)


@given(places)
def test_spread_places_are_apart_within_bounds_and_in_order(given_places):
    result = spread(given_places, 0.1, 0.0, 1.0)
    ordered = result[np.argsort(given_places, kind="stable")]
    assert (np.diff(ordered) >= 0.1 - 1e-9).all()
    assert (result >= -1e-9).all()
    assert (result <= 1 + 1e-9).all()


@given(places, st.integers(0, 1000))
def test_no_other_places_are_nearer(given_places, seed):
    """Against many others that keep the same order and distances."""
    result = spread(given_places, 0.1, -10.0, 10.0)
    order = np.argsort(given_places, kind="stable")
    rng = np.random.default_rng(seed)
    for scale in (0.5, 0.05, 0.005):
        moved = np.sort(result[order] + scale * rng.normal(size=len(result)))
        steps = 0.1 * np.arange(len(moved))
        others = np.maximum.accumulate(moved - steps) + steps  # apart again
        assert ((result - given_places) ** 2).sum() <= (
            (others - np.asarray(given_places)[order]) ** 2
        ).sum() + 1e-9


def test_places_that_are_apart_stay_where_they_are():
    np.testing.assert_allclose(spread([0.9, 0.1, 0.5], 0.1, 0, 1), [0.9, 0.1, 0.5])
    np.testing.assert_allclose(spread([0.5, 0.5, 0.5], 0.1, 0, 1), [0.4, 0.5, 0.6])
    np.testing.assert_allclose(spread([1.0, 1.0], 0.1, 0, 1), [0.9, 1.0])


def test_too_many_are_spread_evenly():
    np.testing.assert_allclose(spread([0.5] * 5, 0.4, 0, 1), [0, 0.25, 0.5, 0.75, 1])
    assert spread([], 0.1, 0, 1).size == 0


def one_panel():
    figure, axes = canvas.panels(1, 1, width=5, height=3.5, title="")
    return figure, axes[0, 0]


def boxes(figure, axis):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure.draw_without_rendering()
    renderer = FigureCanvasAgg(figure).get_renderer()
    return [text.get_window_extent(renderer) for text in axis.texts]


def test_labels_at_the_ends_of_lines_do_not_overlap_and_are_not_cut_off():
    with canvas.style():
        figure, axis = one_panel()
        axis.plot([0, 1], [0, 1])
        label_ends(axis, [(0.5, f"a rather long name {i}", "#0072B2") for i in range(9)], 3.0)
        result = boxes(figure, axis)
    assert len(result) == 9
    assert not any(a.shrunk(1, 0.9).overlaps(b.shrunk(1, 0.9)) for a, b in combinations(result, 2))
    assert all(box.x1 <= figure.bbox.x1 and box.y0 >= 0 and box.y1 <= figure.bbox.y1 for box in result)


@pytest.mark.parametrize("seed", range(4))
def test_labels_of_points_overlap_no_point_and_no_other_label(seed):
    rng = np.random.default_rng(seed)
    points = [
        Labelled(*rng.uniform(0, 1, 2), *rng.uniform(0, 0.08, 2), f"method {i}", "#0072B2") for i in range(9)
    ]
    points += [
        Labelled(points[0].x, points[0].y, text="on the same point", colour="#D55E00"),
        Labelled(0.5, 0.5),
    ]
    with canvas.style():
        figure, axis = one_panel()
        axis.set_xlim(-0.2, 1.2)
        axis.set_ylim(-0.2, 1.2)
        label_points(axis, points)
        result = boxes(figure, axis)
        dots = axis.transData.transform([(point.x, point.y) for point in points])
    assert len(result) == 10
    assert not any(a.shrunk(1, 0.9).overlaps(b.shrunk(1, 0.9)) for a, b in combinations(result, 2))
    assert not any(box.contains(*dot) for box in result for dot in dots)
    assert all(axis.bbox.x0 <= box.x0 and box.x1 <= axis.bbox.x1 for box in result)


def test_points_that_coincide_are_labelled_below_each_other():
    with canvas.style():
        figure, axis = one_panel()
        axis.set_xlim(0, 1)
        axis.set_ylim(0, 1)
        label_points(axis, [Labelled(0.5, 0.5, text=name, colour="#0072B2") for name in ("A", "B", "C")])
        result = boxes(figure, axis)
    assert [axis.texts[i].get_text() for i in range(3)] == ["A", "B", "C"]
    np.testing.assert_allclose([box.x0 for box in result], result[0].x0, atol=1.5)
    assert result[0].y0 > result[1].y0 > result[2].y0
