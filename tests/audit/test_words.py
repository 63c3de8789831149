"""The sentences say what the numbers say."""

import dataclasses

import numpy as np
import pytest

import bisimulator
from bisimulator.audit import words
from bisimulator.audit.analysis import audit
from bisimulator.audit.audited_policy import read_policy


def said(found):
    return dict(words.findings(found))


def changed(found, **columns):
    """The same audit with other figures of the groups."""
    other = dataclasses.replace(found)
    other.__dict__["groups"] = found.groups | {
        name: (np.array(v), np.zeros(2)) for name, v in columns.items()
    }
    return other


@pytest.mark.parametrize(
    ("rates", "verdict"), [((0.5, 0.39), "below"), ((0.5, 0.4), "not below"), ((0.4, 0.5), "not below")]
)
def test_the_four_fifths_rule(found, rates, verdict):
    text = said(changed(found, approval_rate=rates))["Who is accepted"]
    assert f"{min(rates) / max(rates):.2f} of the higher, {verdict} the .80" in text
    assert (
        f"{max(rates):.0%} of applications are accepted in group {'down' if rates[1] > rates[0] else '<b>up</b>'}"
        in text
    )


def test_nobody_is_accepted(found):
    assert said(changed(found, approval_rate=(0.0, 0.0)))["Who is accepted"] == "Nobody is accepted."


def test_who_is_turned_away(found):
    text = said(changed(found, recall=(0.755, 0.25)))["Who is turned away although they would repay"]
    assert "75% are rejected in group down, against 24% in group <b>up</b>" in text


@pytest.mark.parametrize(
    ("end", "way"),
    [((600, 400), "further apart"), ((510, 500), "closer together"), ((600, 500.5), "about as far apart")],
)
def test_where_people_end_up(found, end, way):
    text = said(changed(found, score_start=(600, 500), score_end=end))["Where people end up"]
    assert way in text
    assert "<b>up</b> from 600 to" in text


def test_what_it_earns_names_the_bound(found):
    text = said(found)["What it earns"]
    assert (
        f"can earn more than {found.earned + found.regret:,.0f}; this one stays {found.regret:,.0f} below"
        in text
    )
    assert "a default -2" in text


def test_what_it_looks_at_is_told_only_where_it_looks(found, env):
    assert "differently by group" in said(found)["What it looks at"]
    same = audit(read_policy("600", env), people="", seeds=3, episodes=2)
    assert "What it looks at" not in said(same)


def test_the_certificate_in_words(found):
    view = found.certificate.entry("loans", "episode")
    text = " ".join(words.certificate_words(found))
    assert (
        f"can expect {view.values[0]:.2f} loans over the whole time, one of group down {view.values[1]:.2f}"
        in text
    )
    assert f"differ by {view.bound:.2f} on average" in text
    assert "with score " in text


@pytest.mark.long
def test_one_group_has_nothing_to_compare():
    alone = bisimulator.make("lending", groups=1, population=50, horizon=100)
    found = audit(read_policy("3", alone), people="", seeds=2, episodes=1)
    assert set(said(found)) <= {"What it earns", "What could be had without earning less"}
    assert words.certificate_words(found) == ["There is only one group, so there is nothing to compare."]


def test_an_estimate_is_said_to_be_one(env):
    seen = env.with_omega(np.full((2, 2), 1.5, np.float32))
    found = audit(read_policy("600", seen), people="", seeds=3, episodes=2)
    assert found.table is None
    assert not found.looks_at_group
    assert not found.is_exact
    assert found.best.upper_bound.shape == (31,)
    text = " ".join(words.certificate_words(found))
    assert "no proof for this policy, only an estimate" in text
    assert "95% interval" in text


def test_assumptions_follow_the_parameters(found):
    text = " ".join(words.assumptions(found))
    assert "4 bins of 100 to 150 points" in text
    assert "raises the score by 1 bins, a default lowers it by 1 bins" in text
    assert "a default -2" in text


def test_shares_near_the_ends_keep_a_decimal():
    assert [words._percent(x) for x in (0, 0.004, 0.5, 0.996, 1)] == ["0%", "0.4%", "50%", "99.6%", "100%"]
