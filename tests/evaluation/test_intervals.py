"""Statistics over seeds, against SciPy's tests and against values computed by hand."""

import numpy as np
import pytest
from scipy import stats as oracle

from bisimulator.evaluation import intervals as stats
from bisimulator.evaluation import mean_and_interval
from bisimulator.evaluation.intervals import Interval

VALUES = np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.3, 5.8, 9.7, 9.3])
OTHERS = np.array([2.0, 1.5, 3.0, 1.0, 7.0, 2.0, 5.0, 6.0, 9.0, 8.0])


def test_the_mean_has_students_interval():
    result = stats.mean_interval(VALUES)
    np.testing.assert_allclose(
        result[1:], oracle.ttest_1samp(VALUES, 0).confidence_interval(0.95), rtol=1e-12
    )
    mean, half = mean_and_interval(VALUES[:, None])
    np.testing.assert_allclose(result, [mean, mean - half, mean + half], rtol=1e-12)


def test_the_paired_difference_is_that_of_the_paired_t_test():
    result = stats.paired_difference(VALUES, OTHERS)
    assert result.estimate == pytest.approx((VALUES - OTHERS).mean())
    expected = oracle.ttest_rel(VALUES, OTHERS).confidence_interval(0.95)
    np.testing.assert_allclose(result[1:], expected, rtol=1e-12)
    # pairs reveal what two separate means do not
    apart = oracle.ttest_ind(VALUES, OTHERS).confidence_interval(0.95)
    assert result.high - result.low < (apart.high - apart.low) / 3


def test_the_interquartile_mean_is_the_mean_of_the_middle_half():
    values = [100.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -50.0]
    assert stats.iqm_interval(values, np.random.default_rng(0)).estimate == np.mean([2, 3, 4, 5])


def test_its_interval_is_scipys_percentile_bootstrap():
    result = stats.iqm_interval(VALUES, np.random.default_rng(0))
    expected = oracle.bootstrap(
        (VALUES,),
        lambda x, axis: oracle.trim_mean(x, 0.25, axis=axis),
        n_resamples=20_000,
        method="percentile",
        random_state=1,
    ).confidence_interval
    # the standard error of a 2.5% quantile from 2,000 draws is about 0.12 here
    np.testing.assert_allclose(result[1:], expected, atol=0.4)
    assert result.low < result.estimate < result.high


def test_the_bootstrap_has_about_its_nominal_coverage():
    rng = np.random.default_rng(5)
    hits = [
        result.low <= 0 <= result.high
        for result in (stats.iqm_interval(rng.normal(size=20), rng) for _ in range(200))
    ]
    assert 0.86 <= np.mean(hits) <= 0.98  # percentile intervals are somewhat narrow with few seeds


def test_the_same_generator_gives_the_same_interval():
    one, other = (stats.iqm_interval(VALUES, np.random.default_rng(3)) for _ in range(2))
    assert one == other


def test_unknown_seeds_are_left_out():
    holes = np.append(VALUES, np.nan)
    assert stats.mean_interval(holes) == stats.mean_interval(VALUES)
    assert stats.iqm_interval(holes, np.random.default_rng(0)) == stats.iqm_interval(
        VALUES, np.random.default_rng(0)
    )
    pairs = stats.paired_difference([1.0, np.nan, 3.0, 5.0], [0.5, 2.0, np.nan, 4.0])
    assert pairs == stats.paired_difference([1.0, 5.0], [0.5, 4.0])


@pytest.mark.parametrize("values", [[], [np.nan]])
def test_without_values_everything_is_nan(values):
    for result in (stats.mean_interval(values), stats.iqm_interval(values, np.random.default_rng(0))):
        assert np.isnan(result).all()


def test_one_seed_has_no_interval():
    for result in (stats.mean_interval([2.0]), stats.iqm_interval([2.0], np.random.default_rng(0))):
        assert result.estimate == 2.0
        assert np.isnan(result[1:]).all()


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match=r"one number per seed, got shape \(2, 5\)"):
        stats.mean_interval(VALUES.reshape(2, 5))
    with pytest.raises(ValueError, match=r"got \(2,\) and \(3,\)"):
        stats.paired_difference([1.0, 2.0], [1.0, 2.0, 3.0])


def test_intervals_print_as_numbers():
    assert repr(Interval(-105.6, -190.0, -21.2)) == "Interval(-105.6, 95% -190 to -21.2)"
    assert repr(Interval(2.0, np.nan, np.nan)) == "Interval(2, no interval)"
    assert Interval(2.0, 1.0, 3.0)._repr_html_() == "<code>Interval(2, 95% 1 to 3)</code>"
