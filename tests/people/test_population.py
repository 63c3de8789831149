"""From records and tables of people to the parameters of lending."""

import csv
import dataclasses
import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bisimulator
from bisimulator import Population
from bisimulator.exact import chain
from bisimulator.people._estimation_options import EstimationOptions, OptionKeywords
from tests.messages import refused

COLUMNS = ["race", "score", "paid"]


def sample(number=600, seed=0):
    rng = np.random.default_rng(seed)
    race = rng.choice(["x", "y", "z"], number, p=[0.6, 0.3, 0.1])
    score = rng.integers(300, 851, number)
    paid = rng.random(number) < (score - 250) / 650
    return {"race": race.tolist(), "score": score.tolist(), "paid": paid.astype(int).tolist()}


@pytest.fixture(scope="module")
def people():
    return sample()


@pytest.fixture
def path(people, tmp_path):
    with (tmp_path / "people.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, *zip(*people.values(), strict=True)])
    return tmp_path / "people.csv"


class Polars:
    """The part of a polars frame that is used: `columns`, and series that are only iterable."""

    def __init__(self, columns):
        self._columns = columns

    @property
    def columns(self):
        return list(self._columns)

    def __getitem__(self, name):
        return iter(self._columns[name])


NAMED = {"group": "race", "repaid": "paid"}


def same(one, other):
    assert one.group_names == other.group_names
    for field in ("edges", "people", "repaid", "repayment"):
        np.testing.assert_allclose(getattr(one, field), getattr(other, field), rtol=1e-6)


def test_people_are_counted_by_group_and_bin(people, path):
    population = Population.from_csv(path, **NAMED, edges=(300, 500, 700, 850))
    assert population.group_names == ("x", "y", "z")  # the largest first
    race, score, paid = (np.array(people[name]) for name in COLUMNS)
    for g, name in enumerate(population.group_names):
        for c, (low, high) in enumerate([(300, 500), (500, 700), (700, 851)]):
            here = (race == name) & (score >= low) & (score < high)
            assert population.people[g, c] == here.sum()
            assert population.repaid[g, c] == paid[here].sum()
    np.testing.assert_allclose(population.shares, [(race == name).mean() for name in population.group_names])
    assert population.bin_labels == ["300-500", "500-700", "700-850"]
    assert "x 3" in repr(population)


def test_people_are_counted_in_other_bins(people, path):
    population = Population.from_csv(path, **NAMED, edges=(300, 500, 700, 850))
    other = Population.from_csv(path, **NAMED, edges=(300, 640, 850))
    np.testing.assert_array_equal(population.count((300, 640, 850)), other.people)


def test_files_frames_and_mappings_give_the_same_population(people, path):
    pandas = pytest.importorskip("pandas")
    from_file = Population.from_csv(path, **NAMED)
    for frame in (pandas.DataFrame(people), Polars(people), people):
        same(Population.from_frame(frame, **NAMED), from_file)


def test_a_polars_frame_gives_the_same_population(people, path):
    polars = pytest.importorskip("polars")
    same(Population.from_frame(polars.DataFrame(people), **NAMED), Population.from_csv(path, **NAMED))


def test_defaults_can_be_given_instead_of_repayments(people):
    turned = people | {"paid": [1 - paid for paid in people["paid"]]}
    same(
        Population.from_frame(turned, group="race", defaulted="paid"), Population.from_frame(people, **NAMED)
    )


def aggregated(people):
    """A row for each group and score: people, repayment, shares and cumulative shares."""
    race, score, paid = (np.array(people[name]) for name in COLUMNS)
    rows = {
        name: []
        for name in ("group", "score", "people", "group_people", "rate", "default", "share", "cumulative")
    }
    for name in np.unique(race):
        total = (race == name).sum()
        for value in np.unique(score[race == name]):
            here = (race == name) & (score == value)
            upto = ((race == name) & (score <= value)).sum()
            rate = paid[here].mean()
            for column, cell in zip(
                rows,
                (name, value, here.sum(), total, rate, 1 - rate, here.sum() / total, upto / total),
                strict=True,
            ):
                rows[column].append(cell)
    return rows


def test_a_table_of_the_same_people_gives_the_same_population(people):
    rows, records = aggregated(people), Population.from_frame(people, **NAMED)
    same(Population.from_table(rows, people="people", repayment_rate="rate"), records)
    same(Population.from_table(rows, people="group_people", share="share", default_rate="default"), records)
    spread = Population.from_table(
        rows, people="group_people", cumulative_share="cumulative", default_rate="default"
    )
    np.testing.assert_allclose(spread.people.sum(1), records.people.sum(1))
    np.testing.assert_allclose(
        spread.people.cumsum(1), records.people.cumsum(1), atol=4
    )  # within rows of few people


def test_a_table_without_numbers_of_people_assumes_equally_large_groups(people):
    population = Population.from_table(
        aggregated(people), share="share", repayment_rate="rate", edges=(300, 600, 850)
    )
    np.testing.assert_allclose(population.shares, 1 / 3)
    assert "equally large" in population.notes[0]
    np.testing.assert_allclose(population.repayment, population.repaid / population.people)


def test_the_environment_has_the_estimated_parameters(people):
    population = Population.from_frame(people, **NAMED, bins=11, score_range=(300, 850))
    env = population.make(
        score_up=population.bins_of(100), score_down=1, reward_default=-3, population=50, horizon=100
    )
    assert env.group_names == ("x", "y", "z")
    assert env.params.score_edges == tuple(np.linspace(300, 850, 12))
    np.testing.assert_allclose(env.params.initial, population.initial, atol=1e-6)
    np.testing.assert_allclose(env.params.repayment, population.repayment, atol=1e-6)
    np.testing.assert_allclose(env.params.group_probs, population.shares, atol=1e-6)
    assert env.params.omega.tolist() == [[2, 1]] * 3  # the bank sees true scores
    json.dumps(population.params())  # as a job's settings
    exact = chain.expect(env, np.ones((3, 11)))
    np.testing.assert_allclose(exact.applied.sum(), 100)


def test_groups_can_be_chosen_and_ordered(people):
    population = Population.from_frame(people, **NAMED, groups=("z", "x"))
    assert population.group_names == ("z", "x")
    assert "Left out: y." in population.notes
    race = np.array(people["race"])
    np.testing.assert_allclose(
        population.shares, np.array([(race == n).sum() for n in "zx"]) / (race != "y").sum()
    )


def test_all_groups_can_share_one_rate(people):
    rates = Population.from_frame(people, **NAMED, per_group=False).repayment
    np.testing.assert_array_equal(rates, np.tile(rates[0], (3, 1)))


def test_moves_in_points_are_converted_to_bins(people):
    population = Population.from_frame(people, **NAMED, bins=22, score_range=(300, 850))
    assert (population.bins_of(75), population.bins_of(150), population.bins_of(0)) == (3, 6, 0)
    with pytest.raises(ValueError, match=r"10 points are less than half a bin of 25.*at least 28 bins"):
        population.bins_of(10)
    with pytest.raises(ValueError, match="the bins are 100 to 450 points wide"):
        Population.from_frame(people, **NAMED, edges=(300, 400, 850)).bins_of(75)


def test_a_small_group_raises_a_warning_with_its_size(people):
    with pytest.warns(UserWarning, match="Group 'z' has 65 people, fewer than 100"):
        population = Population.from_frame(people, **NAMED, fewest=100)
    assert any("Group 'z' has" in note for note in population.notes)


def test_unusual_data_are_used_and_noted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        falling = Population.from_frame(
            {"group": ["a"] * 400, "score": [1, 2] * 200, "repaid": [1, 0] * 200}, bins=2
        )
        assert falling.repayment[0, 0] > falling.repayment[0, 1]
        assert any("does not always rise" in n and "used as it is" in n for n in falling.notes)
        assert any("only one group" in note for note in falling.notes)
        one = Population.from_frame({"group": ["a", "A"], "score": [5, 5], "repaid": [1, 0]})
        assert any("same score, 5" in note for note in one.notes)
        assert any("upper and lower case" in note for note in one.notes)
        assert one.make().params.num_scores == 1
        gaps = Population.from_frame(
            {"group": ["a"] * 4, "score": [0, 1, 9, 10], "repaid": [0, 0, 1, 1]}, bins=5
        )
        assert any("3 of 5 bins are empty" in note for note in gaps.notes)
        assert (np.diff(gaps.repayment[0]) > 0).all()


WRONG = [
    ({"group": "rac"}, ["has no column 'rac'", "Did you mean 'race'"]),
    ({"repaid": None}, ["has no column 'repaid'"]),
    ({"defaulted": "paid"}, ["name repaid or defaulted, not both"]),
    ({"groups": ("x", "w")}, ["has no group 'w'", "Known: x, y, z"]),
    ({"groups": ()}, ["groups is empty"]),
    ({"edges": (400, 850)}, ["lies outside the edges 400 to 850", "row", "widen them"]),
    ({"score_range": (400, 900)}, ["must lie in [400, 900]", "score_range"]),
    ({"score_range": (900, 400)}, ["score_range must be (lowest, highest)"]),
    ({"missing": "ignore"}, ["Unknown missing 'ignore'", "drop, refuse"]),
    ({"shrinkage": -1}, ["shrinkage must lie in [0, inf], got -1"]),
    ({"binning": "equal"}, ["Unknown binning 'equal'", "equal-width"]),
    ({"bins": 2.5}, ["bins must be a whole number"]),
    ({"group": "score"}, ["different groups", "is that the column of groups?"]),
]


@pytest.mark.parametrize(("keywords", "parts"), WRONG)
def test_wrong_records_raise_an_error_that_names_the_problem(keywords, parts, people):
    with refused(parts):
        Population.from_frame(people, **NAMED | keywords)


def test_an_unknown_option_suggests_the_closest_one(people):
    with pytest.raises(TypeError, match=r"a population has no parameter 'bin'\. Did you mean 'bins'"):
        Population.from_frame(people, **NAMED, bin=3)
    with pytest.raises(TypeError, match=r"groups must be a sequence of names, got 'x'"):
        Population.from_frame(people, **NAMED, groups="x")


def table(**changes):
    rows = {
        "group": ["a", "a", "b", "b"],
        "score": [1, 2, 1, 2],
        "share": [0.4, 0.6, 0.5, 0.5],
        "rate": [0.5, 0.9, 0.4, 0.8],
    }
    return rows | {"cumulative": [0.4, 1, 0.5, 1], "people": [90, 90, 80, 80]} | changes


SHARE = {"share": "share", "repayment_rate": "rate", "people": "people"}
CUMULATIVE = {"cumulative_share": "cumulative", "repayment_rate": "rate", "people": "people"}
WRONG_TABLES = [
    (table(), {"share": "share"}, ["name one of repayment_rate and default_rate"]),
    (table(), SHARE | {"default_rate": "rate"}, ["name one of repayment_rate and default_rate"]),
    (table(), SHARE | {"cumulative_share": "cumulative"}, ["share or cumulative_share, not both"]),
    (table(), {"repayment_rate": "rate"}, ["how many people have each score"]),
    (
        table(share=[40, 60, 50, 50]),
        SHARE,
        ["'share' must lie in [0, 1], got '40' on rows 0, 1, 2", "divide by 100"],
    ),
    (table(share=[0.4, 0.3, 0.5, 0.5]), SHARE, ["'share' of group 'a' must sum to 1, got 0.7"]),
    (table(rate=[0.5, 1.2, 0.4, 0.8]), SHARE, ["'rate' must lie in [0, 1], got '1.2' on row 1"]),
    (table(people=[90, 91, 80, 80]), SHARE, ["must be the same on all rows of group 'a', got 90 to 91"]),
    (table(people=[90, 90, -1, -1]), SHARE, ["'people' must lie in [0, inf], got '-1' on rows 2, 3"]),
    (table(people=[90, 90, 0, 0]), SHARE, ["group 'b' has no people"]),
    (table(cumulative=[0.4, 0.3, 0.5, 1]), CUMULATIVE, ["'cumulative' of group 'a' falls on row 1"]),
    (table(cumulative=[0.4, 0.8, 0.5, 1]), CUMULATIVE, ["'cumulative' of group 'a' must end at 1, got 0.8"]),
]


@pytest.mark.parametrize(("rows", "names", "parts"), WRONG_TABLES)
def test_wrong_tables_raise_an_error_that_names_the_problem(rows, names, parts):
    with refused(parts):
        Population.from_table(rows, **names)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 1000), st.booleans()), min_size=1, max_size=30),
    st.integers(1, 12),
    st.sampled_from(["equal-width", "quantile"]),
    st.booleans(),
)
def test_any_people_make_valid_parameters_of_lending(people, bins, binning, per_group):
    frame = dict(zip(("group", "score", "repaid"), zip(*people, strict=True), strict=True))
    population = Population.from_frame(frame, bins=bins, binning=binning, per_group=per_group, fewest=0)
    params = population.make(population=3, horizon=3).params
    assert params.num_groups == len({group for group, _, _ in people})
    assert np.isfinite(params.repayment).all()
    assert population.people.sum() == len(people)


def test_population_is_a_public_name():
    assert bisimulator.Population is Population


def test_a_population_shows_itself_in_notebooks_with_escaped_names():
    people = {"group": ["<a>", "b"] * 60, "score": [1, 2] * 60, "repaid": [1, 0] * 60}
    page = Population.from_frame(people, bins=2)._repr_html_()
    assert "&lt;a&gt;</th><td>60</td><td>50.0%</td><td>100.0%</td>" in page
    assert "<a>" not in page


def test_the_keywords_for_type_checkers_are_the_options():
    fields = {field.name for field in dataclasses.fields(EstimationOptions)}
    assert fields == set(OptionKeywords.__annotations__)
