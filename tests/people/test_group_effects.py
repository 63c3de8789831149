"""Differences between groups at equal scores, by simulation with known ones."""

import numpy as np
import pytest
from scipy.special import expit

from bisimulator.people._group_effects import GroupDifference, fit_group_effects, group_differences
from bisimulator.people._shrinkage import shrink

SHARES = np.array([[0.02, 0.04, 0.08, 0.12, 0.16, 0.18, 0.16, 0.12, 0.08, 0.04], [0.1] * 10])
REPEATS = 60


def draw(rng, difference, people=5000):
    """Counts of two groups whose rates differ by `difference` at every score."""
    counts = np.stack([rng.multinomial(people // 2, share) for share in SHARES]).astype(float)
    first = 0.15 + 0.75 * np.linspace(0, 1, 10)
    rates = np.stack([first + difference / 2, first - difference / 2])
    return counts, rng.binomial(counts.astype(int), rates).astype(float)


def shown(effects, counts, repaid):
    """The difference that the estimated rates show, over the scores of all people."""
    rates, _ = shrink(effects, counts, repaid)
    return float((rates[1] - rates[0]) @ (counts.sum(0) / counts.sum()))


@pytest.fixture(scope="module")
def six_points():
    rng = np.random.default_rng(100)
    drawn = [draw(rng, 0.06) for _ in range(REPEATS)]
    return [(fit_group_effects(*counts), *counts) for counts in drawn]


def test_six_points_among_5000_people_are_shown_as_six_points(six_points):
    found = np.array([shown(*sample) for sample in six_points])
    error = found.std(ddof=1) / np.sqrt(REPEATS)
    assert abs(found.mean() + 0.06) < 3 * error
    assert error < 0.003
    assert found.max() < -0.02  # it never disappears


def test_intervals_cover_the_truth_as_often_as_they_say(six_points):
    covered = 0
    for effects, counts, _ in six_points:
        (difference,) = group_differences(effects, "ab", counts)
        covered += difference.low <= -0.06 <= difference.high
    assert covered >= 0.88 * REPEATS  # 95% of 60, less two standard errors


def test_no_difference_is_said_not_to_be_told():
    rng = np.random.default_rng(101)
    unclear = 0
    for _ in range(REPEATS):
        counts, repaid = draw(rng, 0.0, people=1000)
        (difference,) = group_differences(fit_group_effects(counts, repaid), "ab", counts)
        unclear += not difference.is_clear
    assert unclear >= 0.88 * REPEATS


def test_scores_that_differ_between_groups_are_no_difference_at_equal_scores():
    rng = np.random.default_rng(102)
    low, high = np.linspace(0.28, 0.01, 8), np.linspace(0.01, 0.28, 8)
    counts = np.stack([rng.multinomial(20_000, s / s.sum()) for s in (high, low)]).astype(float)
    repaid = rng.binomial(counts.astype(int), expit(np.linspace(-2, 2, 8))).astype(float)
    (difference,) = group_differences(fit_group_effects(counts, repaid), "ab", counts)
    assert abs(difference.estimate) < 0.02
    assert not difference.is_clear


def test_a_difference_at_one_score_only_is_kept_there():
    people = np.full((2, 6), 4000.0)
    rates = np.tile(np.linspace(0.3, 0.9, 6), (2, 1))
    rates[1, 3] -= 0.2
    found, _ = shrink(fit_group_effects(people, people * rates), people, people * rates)
    np.testing.assert_allclose(found, rates, atol=0.02)


def test_a_small_group_that_is_like_the_others_is_drawn_towards_them():
    rng = np.random.default_rng(103)
    sizes, rates = [1500, 800, 300, 60, 30], np.linspace(0.15, 0.9, 10)
    off, alone = [], []
    for _ in range(12):
        counts = np.stack([rng.multinomial(size, [0.1] * 10) for size in sizes]).astype(float)
        repaid = rng.binomial(counts.astype(int), rates).astype(float)
        off.append(fit_group_effects(counts, repaid).rates[-1].mean() - rates.mean())
        alone.append(repaid[-1].sum() / counts[-1].sum() - (counts[-1] @ rates) / counts[-1].sum())
    assert np.std(off) < 0.6 * np.std(alone)


def test_extreme_counts_have_rates():
    people = np.array([[5.0, 0, 3], [2, 4, 0]])
    for scale in (1, 1e13):
        for repaid in (np.zeros((2, 3)), people, people / 2):
            rates = fit_group_effects(scale * people, scale * repaid).rates
            assert ((rates >= 0) & (rates <= 1)).all()
    np.testing.assert_allclose(rates[people > 0], 0.5, atol=1e-6)


def test_in_words():
    clear = GroupDifference("b", "a", -0.058, -0.083, -0.033)
    assert clear.in_words == (
        "At equal scores, group 'b' repays less often than group 'a', by 5.8 points (95% interval -8.3 to -3.3 points)."
    )
    unclear = GroupDifference("b", "a", 0.01, -0.02, 0.04)
    assert unclear.in_words.startswith(
        "The data cannot tell whether group 'b' repays differently from group 'a'"
    )
    assert "+1.0 points, 95% interval -2.0 to +4.0 points. The estimate is used." in unclear.in_words
