"""Accept-all and the frontier in the trade-off figure."""

import numpy as np
import pytest

from bisimulator.jobs.references import Reference
from bisimulator.report._styles import style
from bisimulator.report.figures import _canvas as canvas
from bisimulator.report.figures import tradeoff
from tests.report.synthetic_results import REFERENCE, synthetic_result


@pytest.fixture(scope="module")
def axes():
    return tradeoff.draw([synthetic_result()], {"lending": REFERENCE})["lending-tradeoff"].axes


def of_colour(axis, colour):
    return [line for line in axis.lines if line.get_color() == colour]


def test_the_frontier_is_drawn_where_it_is_known(axes):
    (line,) = of_colour(axes[0], canvas.INK)
    np.testing.assert_allclose(line.get_xdata()[:2], [0.0, 0.5])
    np.testing.assert_allclose(line.get_ydata(), [900, 1200, 1200])
    assert line.get_xdata()[-1] >= axes[0].get_xlim()[1]  # flat beyond the last level
    assert of_colour(axes[1], canvas.INK) == []


def test_what_is_above_the_points_is_within_the_frame(axes):
    low, high = axes[0].get_ylim()
    assert low < 800 < 1200 < high  # accept-all, and the frontier above PPO's recall gap of .5


def test_accept_all_is_a_point_with_its_name(axes):
    look = style("accept-all")
    (point,) = (line for line in of_colour(axes[0], look.colour) if line.get_marker() == look.marker)
    assert (point.get_xdata()[0], point.get_ydata()[0]) == (0, 800)
    assert "accept-all" in [text.get_text() for text in axes[0].texts]


def test_no_label_is_written_over_the_frontier(axes):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    axis = axes[0]
    renderer = FigureCanvasAgg(axis.figure).get_renderer()
    (line,) = of_colour(axis, canvas.INK)
    at = np.linspace(*axis.get_xlim(), 500)
    pixels = axis.transData.transform(np.stack([at, np.interp(at, *line.get_data())], 1))
    for text in axis.texts:
        box = text.get_window_extent(renderer)
        assert not any(box.contains(x, y) for x, y in pixels), text.get_text()


def test_notes_say_what_is_simulated_and_what_is_left_out():
    columns = ["recall_gap", "social_burden_gap"]
    simulated = Reference({"average_return": (1.0, 0.1)}, {}, {"recall_gap": "people influence each other"})
    assert tradeoff.notes(columns, simulated) == [
        "accept-all was not among the jobs; its values are simulated in the same episodes.",
        "No frontier of the recall gap: people influence each other.",
    ]
    assert tradeoff.notes(columns, Reference()) == []
