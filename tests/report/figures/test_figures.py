"""Every kind of figure: drawn from any results, nothing cut off, one colour per method, the same file each time."""

import dataclasses
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from bisimulator import registry
from bisimulator.methods.hooks import LearnedMethod
from bisimulator.report._by_scenario import by_scenario
from bisimulator.report._styles import style
from bisimulator.report._table_columns import published_name
from bisimulator.report.figures import _canvas as canvas
from bisimulator.report.figures import approvals_over_time as approvals
from bisimulator.report.figures import initial_scores as initial
from bisimulator.report.figures import learning_curve_figures as curves
from bisimulator.report.figures import observed_scores as observed
from bisimulator.report.figures import recall_by_group as groups
from bisimulator.report.figures import tradeoff
from tests.report.synthetic_results import several_results, synthetic_result

KINDS = {
    curves: {"lending-curves", "lending-ablation", "lending-10-groups-curves"},
    tradeoff: {"lending-tradeoff", "lending-10-groups-tradeoff"},
    approvals: {"lending-approvals", "lending-10-groups-approvals"},
    observed: {"lending-observation", "lending-10-groups-observation"},
    groups: {"lending-10-groups-groups"},
    initial: {"lending-initial", "lending-10-groups-initial"},
}
BETWEEN_GROUPS = {groups: "lending-10-groups-groups", observed: "lending-10-groups-observation"}
BY_METHOD = [kind for kind in KINDS if kind is not initial]
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__.rsplit(".", 1)[1])


@pytest.fixture(scope="module")
def results():
    return several_results()


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
    texts = [*figure.texts]
    for axis in figure.axes:
        if axis.get_visible():
            texts += [*axis.texts, axis._left_title, axis.xaxis.label, axis.yaxis.label]
            texts += axis.get_legend().get_texts() if axis.get_legend() else []
            texts += [label for label in axis.get_yticklabels() if label.get_text()[:1].isalpha()]
    return [text for text in texts if text.get_text()]


@pytest.mark.parametrize("kind", BY_METHOD, ids=lambda kind: kind.__name__.rsplit(".", 1)[1])
def test_a_method_has_its_colour_and_no_other(kind, results, drawn):
    known = {canvas.PALE} | {style(m, published_name(m)).colour for m in {r.spec.method for r in results}}
    for figure in drawn[kind].values():
        for axis in figure.axes:
            colours = {line.get_color() for line in axis.lines}
            assert colours <= known
            assert colours or not axis.get_visible()


def test_no_line_leads_from_one_category_to_another(drawn):
    """Groups have no order; a line between two of them would show values that nobody has."""
    (each, *_), (*_, omega) = (drawn[kind][name].axes for kind, name in BETWEEN_GROUPS.items())
    for axis in (each, omega):
        assert axis.get_xlabel() == "group"
        assert {line.get_linestyle() for line in axis.lines if len(line.get_xdata()) > 2} == {"None"}


@kinds
def test_panels_have_letters_if_there_are_several(kind, drawn):
    for figure in drawn[kind].values():
        letters = [text.get_text() for axis in figure.axes for text in axis.texts[:1]]
        if len(figure.axes) == 1:
            assert "a" not in letters
        else:
            assert letters == list("abcdefghijkl"[: len(figure.axes)])


def test_the_curve_is_that_of_the_results(results, drawn):
    figure = drawn[curves]["lending-curves"]
    axis = next(axis for axis in figure.axes if axis.get_title(loc="left") == "Recall gap")
    ppo = next(line for line in axis.lines if line.get_color() == style("ppo", "PPO").colour)
    stored = results[0].curves
    np.testing.assert_allclose(ppo.get_xdata(), stored.steps)
    np.testing.assert_allclose(ppo.get_ydata(), stored.values["recall_gap"].mean(1))


def test_one_jobs_curve_of_one_metric(results):
    stored = results[0].curves
    figure = curves.draw_curve(results[0], "recall_gap")
    (axis,) = figure.axes
    (line,) = axis.lines[:1]
    np.testing.assert_allclose(line.get_xdata(), stored.steps)
    np.testing.assert_allclose(line.get_ydata(), stored.values["recall_gap"].mean(1))
    assert (axis.get_title(loc="left"), axis.get_xlabel()) == ("Recall gap", "training steps")
    assert figure.get_suptitle() == "lending: PPO"


def test_one_jobs_curve_of_a_diagnostic_of_the_solver(results):
    stored = results[0].curves
    entropy = {"solver/entropy": np.ones((len(stored.steps), 3))}
    with_diagnostics = dataclasses.replace(stored, values=stored.values | entropy)
    figure = curves.draw_curve(dataclasses.replace(results[0], curves=with_diagnostics), "solver/entropy")
    assert figure.axes[0].get_title(loc="left") == "solver/entropy"
    assert figure.axes[0].lines[0].get_ydata().tolist() == [1.0] * 4


def test_a_curve_that_does_not_exist_is_refused(results):
    with pytest.raises(ValueError, match=r"Unknown metric 'recal_gap'. Did you mean 'recall_gap'"):
        curves.draw_curve(results[0], "recal_gap")
    rule = synthetic_result(method="accept-all")
    with pytest.raises(
        ValueError, match="accept-all has no learning curve; train a method with curve_every above 0"
    ):
        curves.draw_curve(rule, "recall_gap")


def test_a_dollar_sign_in_a_name_is_a_dollar_sign():
    name = "$x_{$"
    registry.register("method", name, LearnedMethod(summary="", published="", solver="ppo"))
    try:
        result = synthetic_result(method=name)
        for kind in BY_METHOD:
            for figure in kind.draw([result]).values():
                figure.draw_without_rendering()  # as mathematics the name would be wrong
                texts = "".join(text.get_text() for text in written(figure))
                assert name in texts
    finally:
        registry.unregister("method", name)


def test_numbers_in_names_are_not_rounded():
    results = [
        synthetic_result(method="ppo-bisimulator", config={"alpha": alpha}) for alpha in (2.125, 2.375)
    ]
    svg = canvas.encode(approvals.draw(results)["lending-approvals"], "svg")
    assert b"alpha 2.125" in svg
    assert b"alpha 2.375" in svg


def test_the_interval_of_a_curve_is_students(results):
    from scipy import stats

    (scenario,) = by_scenario(results[:1])
    _, mean, half = curves.band(scenario.entries[0], "recall_gap")
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
    (scenario,) = by_scenario(results[:1])
    steps, so_far = approvals.cumulative(scenario.entries[0])
    assert (steps[0], steps[-1]) == (0, 10_000)
    assert so_far[0].tolist() == [0, 0]
    np.testing.assert_allclose(so_far[-1, 0], results[0].summary["approvals_g1"][0])
    assert approvals.shown_groups(10) == [0, 9]


def test_approvals_are_called_as_the_scenario_calls_them():
    (figure,) = approvals.draw([synthetic_result("college")]).values()
    assert figure.axes[0].get_ylabel() == "cumulative admissions"


def test_initial_shares_are_those_of_the_environment(results):
    (scenario,) = by_scenario(results[:1])
    drawn, expected = initial.shares(scenario), np.asarray(results[0].spec.make_env().params.initial)
    np.testing.assert_allclose(drawn.sum(1), 1)
    # 50,000 people in two groups: four standard errors are .009
    np.testing.assert_allclose(drawn, expected, atol=0.009)


@pytest.mark.parametrize("kind", BY_METHOD, ids=lambda kind: kind.__name__.rsplit(".", 1)[1])
def test_one_seed_a_rule_and_other_settings_can_be_drawn(kind):
    """No interval, no curve, no published row: what is missing is left out."""
    alone = [synthetic_result(method="accept-all", seeds=1, settings={"population": 50})]
    trained = [synthetic_result(method="ppo-bisimulator", seeds=1)]
    for results in (alone, alone + trained):
        for figure in kind.draw(results).values():
            figure.draw_without_rendering()


def test_files_are_the_same_each_time_and_small(results):
    one, other = (approvals.draw(results[:1])["lending-approvals"] for _ in range(2))
    for kind, start in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        content = canvas.encode(one, kind)
        assert content == canvas.encode(other, kind)
        assert content.startswith(start)
        assert len(content) < 30_000


def test_svg_is_xml_with_text_and_a_size(drawn):
    figure = drawn[approvals]["lending-approvals"]
    root = ElementTree.fromstring(canvas.encode(figure, "svg"))
    texts = {"".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"PPO", "DQN", "Group 1", "cumulative loans"} <= texts
    width, height = (float(root.get(side).removesuffix("pt")) for side in ("width", "height"))
    np.testing.assert_allclose([width / 72, height / 72], figure.get_size_inches(), atol=0.01)
