"""Learning curves: evaluated where they should be, without any influence on what is learned."""

import numpy as np
import pytest

from bisimulator import files
from bisimulator.evaluation import seed_means
from bisimulator.jobs import run as jobs
from bisimulator.jobs import store
from bisimulator.jobs.learning_curves import evaluation_points
from tests.jobs.test_run import learned

POINTS = [
    # updates, batch, every -> points
    (781, 512, 10_000, 40),
    (10, 8, 24, [3, 6, 9, 10]),
    (10, 8, 20, [3, 5, 8, 10]),  # at or past 20, 40, 60 steps
    (10, 8, 40, [5, 10]),
    (10, 8, 1, list(range(1, 11))),
    (10, 8, 80, [10]),
    (10, 8, 10**9, [10]),
    (10, 8, 0, []),
]


@pytest.mark.parametrize(("updates", "batch", "every", "wanted"), POINTS)
def test_points_come_at_or_just_past_every_so_many_steps_and_at_the_end(updates, batch, every, wanted):
    points = evaluation_points(updates, batch, every)
    if isinstance(wanted, int):
        assert len(points) == wanted
        steps = np.array(points) * batch
        assert (steps[:-1] - np.arange(1, wanted) * every >= 0).all()
        assert (steps[:-1] - np.arange(1, wanted) * every < batch).all()
    else:
        assert list(points) == wanted


@pytest.fixture(scope="module")
def with_curve(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    return jobs.run(learned(), out), out / learned().name


def test_a_curve_has_one_value_a_point_and_seed_in_every_metric(with_curve):
    result, folder = with_curve
    assert result.curves.steps.tolist() == [24, 48, 72, 80]
    diagnostics = {name for name in result.curves.values if name.startswith("solver/")}
    assert {"solver/loss", "solver/approx_kl", "solver/entropy"} <= diagnostics
    assert result.curves.values.keys() == result.columns.keys() | diagnostics
    for values in result.curves.values.values():
        assert values.shape == (4, 2)
    stored = files.read_arrays(folder / "curves.npz")
    assert stored.keys() == {"steps", *result.columns, *diagnostics}


def test_it_ends_with_the_final_evaluation(with_curve):
    """The same episodes, so the same numbers."""
    result, _ = with_curve
    for metric, values in result.columns.items():
        np.testing.assert_array_equal(result.curves.values[metric][-1], seed_means(values))


def test_it_moves(with_curve):
    result, _ = with_curve
    assert any((values != values[0]).any() for values in result.curves.values.values())


def test_evaluating_changes_nothing_that_is_learned(with_curve, tmp_path):
    _, folder = with_curve
    without = learned(curve_every=0)
    result = jobs.run(without, tmp_path)
    assert result.curves is None
    assert not (tmp_path / without.name / "curves.npz").exists()
    for name in ("weights.npz", "episodes.csv", "learned.npz"):
        assert (tmp_path / without.name / name).read_bytes() == (folder / name).read_bytes()
    assert store.load(tmp_path / without.name).curves is None
