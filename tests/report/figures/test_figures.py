"""Every kind of figure: drawn from any results, nothing cut off, one colour a method, the same file each time."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from bisimulator.report._by_scenario import scenes
from bisimulator.report._styles import style
from bisimulator.report._table_columns import published_name
from bisimulator.report.figures import _canvas as canvas
from bisimulator.report.figures import approvals_over_time as approvals
from bisimulator.report.figures import initial_scores as initial
from bisimulator.report.figures import learning_curve_figures as curves
from bisimulator.report.figures import observed_scores as observed
from bisimulator.report.figures import recall_by_group as groups
from bisimulator.report.figures import tradeoff
from tests.report.made_up import few, made_up

KINDS = {
    curves: {"lending-curves", "lending-ablation", "lending-10-groups-curves"},
    tradeoff: {"lending-tradeoff", "lending-10-groups-tradeoff"},
    approvals: {"lending-approvals", "lending-10-groups-approvals"},
    observed: {"lending-observation", "lending-10-groups-observation"},
    groups: {"lending-10-groups-groups"},
    initial: {"lending-initial", "lending-10-groups-initial"},
}
BY_METHOD = [kind for kind in KINDS if kind is not initial]
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__.rsplit(".", 1)[1])


@pytest.fixture(scope="module")
def results():
    return few()


@pytest.fixture(scope="module")
def drawn(results):
    """Kind -> its figures by name; drawing is what takes time."""
    return {kind: kind.draw(results) for kind in KINDS}


@kinds
def test_the_figures_of_a_few_results(kind, drawn):
    assert set(drawn[kind]) == KINDS[kind]


@kinds
def test_nothing_is_cut_off(kind, drawn):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    for name, figure in drawn[kind].items():
        renderer = FigureCanvasAgg(figure).get_renderer()
        with canvas.style():
            figure.draw_without_rendering()
        frame = figure.bbox.padded(1)
        for text in written(figure):
            box = text.get_window_extent(renderer)
            assert frame.x0 <= box.x0 <= box.x1 <= frame.x1, (name, text.get_text())
            assert frame.y0 <= box.y0 <= box.y1 <= frame.y1, (name, text.get_text())


def written(figure):
    """All texts but the numbers at ticks, which matplotlib keeps also beyond the limits of an axis."""
    found = [*figure.texts]
    for axis in figure.axes:
        if axis.get_visible():
            found += [*axis.texts, axis._left_title, axis.xaxis.label, axis.yaxis.label]
            found += axis.get_legend().get_texts() if axis.get_legend() else []
            found += [label for label in axis.get_yticklabels() if label.get_text()[:1].isalpha()]
    return [text for text in found if text.get_text()]


@pytest.mark.parametrize("kind", BY_METHOD, ids=lambda kind: kind.__name__.rsplit(".", 1)[1])
def test_a_method_has_its_colour_and_no_other(kind, results, drawn):
    known = {canvas.PALE} | {style(m, published_name(m)).colour for m in {r.spec.method for r in results}}
    for figure in drawn[kind].values():
        for axis in figure.axes:
            colours = {line.get_color() for line in axis.lines}
            assert colours <= known
            assert colours or not axis.get_visible()


def test_the_curve_is_that_of_the_results(results, drawn):
    figure = drawn[curves]["lending-curves"]
    axis = next(axis for axis in figure.axes if axis.get_title(loc="left") == "Recall gap")
    ppo = next(line for line in axis.lines if line.get_color() == style("ppo", "PPO").colour)
    stored = results[0].curves
    np.testing.assert_allclose(ppo.get_xdata(), stored.steps)
    np.testing.assert_allclose(ppo.get_ydata(), stored.values["recall_gap"].mean(1))


def test_the_interval_of_a_curve_is_students(results):
    from scipy import stats

    (scene,) = scenes(results[:1])
    _, mean, half = curves.band(scene.entries[0], "recall_gap")
    values = results[0].curves.values["recall_gap"]
    low, high = stats.t.interval(0.95, values.shape[1] - 1, values.mean(1), stats.sem(values, axis=1))
    np.testing.assert_allclose(mean - half, low)
    np.testing.assert_allclose(mean + half, high)


def test_the_reward_only_variant_has_a_figure_of_its_own_beside_the_full_one(results, drawn):
    def colours(name):
        return {line.get_color() for axis in drawn[curves][name].axes for line in axis.lines}

    reward = style("ppo-bisimulator-reward", "PPO + Bisimulator (Reward only)").colour
    assert reward not in colours("lending-curves")
    assert reward in colours("lending-ablation")
    alone = curves.draw([r for r in results if r.spec.method == "ppo-bisimulator-reward"])
    assert set(alone) == {"lending-curves"}  # without the full one it is not set aside


def test_approvals_begin_with_nothing_and_end_with_all(results):
    (scene,) = scenes(results[:1])
    steps, so_far = approvals.cumulative(scene.entries[0])
    assert (steps[0], steps[-1]) == (0, 10_000)
    assert so_far[0].tolist() == [0, 0]
    np.testing.assert_allclose(so_far[-1, 0], results[0].summary["approvals_g1"][0])
    assert approvals.shown_groups(10) == [0, 9]
    assert [approvals.what(name) for name in ("college", "lending", "x")] == [
        "admissions",
        "loans",
        "approvals",
    ]


def test_initial_shares_are_those_of_the_environment(results):
    (scene,) = scenes(results[:1])
    drawn, wanted = initial.shares(scene), np.asarray(results[0].spec.make_env().params.initial)
    np.testing.assert_allclose(drawn.sum(1), 1)
    # 50,000 people in two groups: four standard errors are .009
    np.testing.assert_allclose(drawn, wanted, atol=0.009)


@pytest.mark.parametrize("kind", BY_METHOD, ids=lambda kind: kind.__name__.rsplit(".", 1)[1])
def test_one_seed_one_rule_and_other_settings_will_do(kind):
    """No interval, no curve, no published row: what is not there is left out."""
    alone = [made_up(method="accept-all", seeds=1, settings={"population": 50})]
    trained = [made_up(method="ppo-bisimulator", seeds=1)]
    for results in (alone, alone + trained):
        for figure in kind.draw(results).values():
            figure.draw_without_rendering()


def test_files_are_the_same_each_time_and_small(results):
    one, other = (approvals.draw(results[:1])["lending-approvals"] for _ in range(2))
    for kind, start in (("svg", b"<?xml"), ("png", b"\x89PNG")):
        content = canvas.encode(one, kind)
        assert content == canvas.encode(other, kind)
        assert content.startswith(start)
        assert len(content) < 30_000


def test_svg_is_xml_with_text_and_a_size(drawn):
    figure = drawn[approvals]["lending-approvals"]
    root = ElementTree.fromstring(canvas.encode(figure, "svg"))
    texts = {"".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"PPO", "DQN", "Group 1", "loans so far"} <= texts
    width, height = (float(root.get(side).removesuffix("pt")) for side in ("width", "height"))
    np.testing.assert_allclose([width / 72, height / 72], figure.get_size_inches(), atol=0.01)
