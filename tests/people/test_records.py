"""Records with past decisions and with several columns of groups."""

import numpy as np
import pytest

from bisimulator import Population

NAMED = {"repaid": "paid", "accepted": "approved", "bins": 4, "score_range": (300, 850)}


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(100)
    number = 1200
    score = rng.integers(300, 851, number)
    approved = (score >= 450) & (rng.random(number) < 0.8)
    paid = np.where(rng.random(number) < score / 900, "1", "0")
    return {
        "group": rng.choice(["a", "b"], number, p=[0.7, 0.3]),
        "sex": rng.choice(["f", "m"], number),
        "score": score,
        "approved": approved.astype(int),
        "paid": np.where(approved, paid, ""),
    }


@pytest.fixture(scope="module")
def people(columns):
    return Population.from_frame(columns, **NAMED)


def test_everybody_is_counted_and_only_the_accepted_tell_repayment(people, columns):
    approved = columns["approved"] == 1
    known = Population.from_frame({name: cells[approved] for name, cells in columns.items()}, **NAMED)
    np.testing.assert_array_equal(people.accepted, known.people)
    np.testing.assert_allclose(people.repayment, known.repayment)
    assert people.people.sum() == 1200
    assert not known.has_rejected
    assert f"Past decisions accepted {approved.sum():,} of 1,200 people" in people.notes[0]
    assert any("Among those accepted in the past: " in note for note in people.notes)
    assert people.group_table()[0] == ["group", "people", "share", "accepted in the past", "repaid"]


def test_entries_of_the_rejected_are_not_used_and_this_is_said(people, columns):
    filled = columns | {"paid": np.where(columns["paid"] == "", "0", columns["paid"])}
    again = Population.from_frame(filled, **NAMED)
    np.testing.assert_array_equal(again.repayment, people.repayment)
    assert any("rejected people have an entry in column 'paid'; it is not used." in n for n in again.notes)


def test_accepted_people_without_an_outcome_are_missing_values(columns):
    paid = columns["paid"].copy()
    rows = np.flatnonzero(columns["approved"])[:3]
    paid[rows] = ""
    with pytest.raises(ValueError, match="column 'paid' is empty on rows"):
        Population.from_frame(columns | {"paid": paid}, **NAMED)
    dropped = Population.from_frame(columns | {"paid": paid}, missing="drop", **NAMED)
    assert dropped.people.sum() == 1197
    assert dropped.accepted.sum() == columns["approved"].sum() - 3


def test_gamma_lowers_the_rate_of_the_rejected_part_of_a_bin(people):
    share = 1 - people.accepted / people.people
    np.testing.assert_allclose(people.rejected_share, share)
    np.testing.assert_allclose(
        people.with_gamma(2).repayment, people.repayment * (1 - share) + people.repayment / 2 * share
    )
    np.testing.assert_allclose(people.with_gamma(1).repayment, people.repayment)
    with pytest.raises(ValueError, match=r"gamma must lie in \[1, inf\], got 0.5"):
        people.with_gamma(0.5)


def test_bins_in_which_nobody_was_accepted_are_named(columns):
    strict = columns | {"approved": (columns["score"] >= 600).astype(int)}
    strict["paid"] = np.where(strict["approved"] == 1, "1", "")
    found = Population.from_frame(strict, **NAMED)
    assert (found.rejected_share[:, :2] == 1).all()
    assert any("Nobody was accepted in 2 of 4 bins" in n and "300-437.5" in n for n in found.notes)


def test_without_anybody_accepted_or_rejected(columns):
    with pytest.raises(ValueError, match="nobody was accepted in column 'approved'"):
        Population.from_frame(columns | {"approved": np.zeros(1200, int)}, **NAMED)
    everybody = columns | {"approved": np.ones(1200, int), "paid": np.ones(1200, int)}
    with pytest.raises(ValueError, match=r"gamma=2 is about people who were rejected .* accepted='approved'"):
        Population.from_frame(everybody, **NAMED).with_gamma(2)


def test_groups_by_several_columns(columns):
    found = Population.from_frame(columns, group=["group", "sex"], **NAMED)
    assert set(found.group_names) == {"a & f", "a & m", "b & f", "b & m"}
    own = (columns["group"] == "b") & (columns["sex"] == "f")
    assert found.people[found.group_names.index("b & f")].sum() == own.sum()
    with pytest.warns(UserWarning, match=r"Group 'b & .' has \d+ people who were accepted in the past"):
        Population.from_frame(columns, group=("group", "sex"), fewest=200, **NAMED)
    for wrong, text in (([], "name a column"), (["sex", "sex"], "twice"), (3, "name a column")):
        with pytest.raises(ValueError, match=text):
            Population.from_frame(columns, group=wrong, **NAMED)


def test_tables_by_several_columns():
    table = {
        "race": ["a", "a", "b", "b"],
        "sex": ["f", "f", "m", "m"],
        "score": [1, 2, 1, 2],
        "size": [60, 40, 50, 70],
        "late": [0.3, 0.1, 0.4, 0.2],
    }
    found = Population.from_table(table, group=["race", "sex"], people="size", default_rate="late", bins=2)
    assert found.group_names == ("b & m", "a & f")
