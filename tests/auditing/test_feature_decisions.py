"""Models of more columns than a score: as they decide on the rows of the data, against a plain simulation."""

import numpy as np
import pytest

import bisimulator
from bisimulator.auditing.feature_decisions import decide_for_all
from bisimulator.auditing.models import ModelOptions, decisions_of, from_model

SETTINGS = {"reward_default": -2, "population": 200, "horizon": 1000, "score_up": 1, "score_down": 2}


class Model:
    """Accepts by score and income, where its owner lives in town only if rich; stands for any classifier."""

    classes_ = ("no", "yes")

    def predict_proba(self, table):
        score, income, place = table[:, 0].astype(float), table[:, 1].astype(float), table[:, 2]
        p = 1 / (1 + np.exp((640 - score + 40 * (place == "town")) / 50 - income / 20))
        return np.stack([1 - p, p], 1)

    def predict(self, table):
        return np.where(self.predict_proba(table)[:, 1] >= 0.5, "yes", "no")


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(100)
    number = 900
    score = rng.integers(300, 851, number)
    return {
        "race": rng.choice(["a", "b"], number, p=[0.6, 0.4]),
        "points": score,
        "income": rng.normal(40, 15, number).round(1),
        "place": rng.choice(["town", "land"], number),
        "paid": (rng.random(number) < score / 900).astype(int),
    }


@pytest.fixture(scope="module")
def people(columns):
    return bisimulator.Population.from_frame(
        columns, group="race", score="points", repaid="paid", features=["income", "place"],
        bins=5, score_range=(300, 850),
    )  # fmt: skip


@pytest.fixture(scope="module")
def found(people):
    return bisimulator.audit(Model(), people, accepts="yes", cutoff=0.6, **SETTINGS)


def walk(model, people, columns, episodes):
    """Persons drawn from the data, one after the other, as a lender would see them: (applied, accepted) by repayers."""
    rng = np.random.default_rng(101)
    edges, rates = people.edges, people.repayment
    counts = np.zeros((2, 2, 2))  # group, would repay, rejected or accepted
    who = rng.integers(0, len(columns["points"]), episodes)
    group = np.array([people.group_names.index(name) for name in columns["race"][who]])
    score = columns["points"][who].astype(float)
    visits = rng.binomial(SETTINGS["horizon"], 1 / SETTINGS["population"], episodes)
    for k in range(visits.max()):
        now = visits > k
        table = np.column_stack([score.astype(object), columns["income"][who], columns["place"][who]])
        accepted = model.predict_proba(table)[:, 1] >= 0.6
        place = np.clip(((score - edges[0]) // 110).astype(int), 0, 4)
        repays = rng.random(episodes) < rates[group, place]
        np.add.at(counts, (group[now], repays[now].astype(int), accepted[now].astype(int)), 1)
        after = np.clip(place + np.where(repays, 1, -2), 0, 4)
        score = np.where(now & accepted, score + 110 * (after - place), score)
    return counts


def test_the_numbers_are_those_of_a_simulation_person_by_person(found, people, columns):
    counts = walk(Model(), people, columns, 40_000)
    rates = counts[:, :, 1].sum(1) / counts.sum((1, 2))
    np.testing.assert_allclose(found.result.row.rates, rates, atol=0.006)
    recalls = counts[:, 1, 1] / counts[:, 1].sum(1)
    np.testing.assert_allclose(found.result.row.recalls, recalls, atol=0.006)
    assert found.verdict.exact
    np.testing.assert_allclose(found.result.trajectories.sums[..., 0].sum(0) / 1000, people.shares, rtol=1e-6)


def test_everybody_is_asked_about_at_the_own_score(people, columns):
    options = ModelOptions(accepts="yes", cutoff=0.6, records=people.records)
    env = people.make(**SETTINGS)
    accept = decide_for_all(decisions_of("m", Model(), options), env, people.records)
    table = np.column_stack([columns["points"].astype(object), columns["income"], columns["place"]])
    own = people.records.bin_of(people.edges)
    expected = Model().predict_proba(table)[:, 1] >= 0.6
    np.testing.assert_array_equal(accept[np.arange(900), own], expected)


def test_the_page_says_what_the_model_looks_at_and_what_that_leaves_out(found, tmp_path):
    assert found.verdict.policy.startswith("The model Model, given score, income, place, accepts from")
    assert "It was asked about each of the 900 people of the data at each of the 5 bins" in found.page
    assert (
        "repays alike in this audit. What the other columns (income, place) tell about repayment"
        in found.page
    )
    assert "with all their columns; nothing is simulated" in found.page
    assert "No bound: the policy tells too many people apart" in found.page
    assert "If the assumptions were others" in found.page
    assert "What it looks at" not in found.page
    assert "Accepted at each score, %" in found.page
    assert not found.verdict.looks_at_group
    assert {path.name for path in found.save(tmp_path)} >= {"index.html", "groups.csv", "over_time.csv"}


def test_what_past_decisions_leave_unknown_and_goals_work_too(columns):
    approved = (columns["points"] > 600).astype(int)
    past = bisimulator.Population.from_frame(
        columns | {"approved": approved}, group="race", score="points", repaid="paid", accepted="approved",
        features=["income", "place"], bins=5, score_range=(300, 850),
    )  # fmt: skip
    found = bisimulator.audit(Model(), past, accepts="yes", goal="min-recall=0.5", **SETTINGS)
    low, high = found.verdict.rejected.policy.earned
    assert low < high
    assert found.verdict.goals[0].reached[0] == pytest.approx(found.verdict.smallest_recall)


def test_decisions_that_need_no_feature_are_exact_by_score(people):
    class ByGroup:
        def predict(self, table):
            return table[:, 1] == "b"

    env = people.make(**SETTINGS)
    options = ModelOptions(("score", "group", "income"), accepts=True, records=people.records)
    audited = from_model("by group", ByGroup(), env, options)
    assert audited.kinds is None
    assert audited.notes[0].startswith("No decision depends on income")


def test_a_model_that_is_told_the_group_is_named(people):
    class ByGroupAndIncome:
        def predict(self, table):
            return (table[:, 0] == 1) | (table[:, 1].astype(float) > 40)

    options = ModelOptions(("group=b", "income"), accepts=True, records=people.records)
    found = bisimulator.audit(ByGroupAndIncome(), people, inputs=options.inputs, accepts=True, **SETTINGS)
    assert dict(found.statements)["What it looks at"].startswith("The model is told the group.")


def test_wrong_columns_are_explained(people, columns):
    env, named = people.make(**SETTINGS), {"group": "race", "score": "points", "repaid": "paid"}
    with pytest.raises(ValueError, match=r"Unknown input of the model 'incme'\. Did you mean 'income'"):
        from_model("m", Model(), env, ModelOptions(("score", "incme"), "yes", records=people.records))
    with pytest.raises(ValueError, match="the dict has no column 'age'"):
        bisimulator.Population.from_frame(columns, features=["age"], **named)
    with pytest.raises(ValueError, match=r"features are columns other than score and outcome.*got 'points'"):
        bisimulator.Population.from_frame(columns, features=["points"], **named)
    with pytest.raises(TypeError, match="features must be a list of columns, got 'income'"):
        bisimulator.Population.from_frame(columns, features="income", **named)
    empty = columns | {"income": np.where(np.arange(900) == 7, "NA", columns["income"].astype(str))}
    with pytest.raises(ValueError, match="column 'income' is empty on row 7"):
        bisimulator.Population.from_frame(empty, features=["income"], **named)
    dropped = bisimulator.Population.from_frame(empty, features=["income"], missing="drop", **named)
    assert dropped.records.features["income"].dtype == np.float64
    other = bisimulator.Population.from_frame(
        columns | {"group": columns["place"]}, features=["group"], **named
    )
    with pytest.raises(ValueError, match="a feature is called 'group'"):
        bisimulator.audit(Model(), other)
