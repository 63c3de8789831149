"""How exact results print: a few lines, no arrays, and in notebooks nothing that a name could inject."""

import dataclasses

import numpy as np
import pytest

import bisimulator
from bisimulator import exact
from bisimulator.exact.certificate import certify_table
from bisimulator.exact.frontier import frontier

HOSTILE = "<b>&"
ESCAPED = "&lt;b&gt;&amp;"


@pytest.fixture(scope="module")
def env():
    small = bisimulator.make("lending", population=20, horizon=100, group_names=("a", HOSTILE))
    return dataclasses.replace(small, name=HOSTILE)


@pytest.fixture(scope="module")
def results(env):
    chain = [[0.5, 0.5], [0, 1]], [0, 1]
    certificate = certify_table(env, np.ones((2, 7)))
    return {
        "certificate": certificate,
        "entry": certificate.main,
        "frontier": frontier(env),
        "expectation": exact.expect(env, np.ones((2, 7))),
        "metric": exact.bisimulation_metric(*chain, gamma=0.9, couplings=True),
    }


@pytest.mark.parametrize("name", ["certificate", "entry", "frontier", "expectation", "metric"])
def test_text_is_short_and_has_no_arrays(results, name):
    text = repr(results[name])
    assert len(text.splitlines()) <= 8
    assert max(map(len, text.splitlines())) <= 250
    assert "array(" not in text
    assert str(results[name]) == text


@pytest.mark.parametrize("name", ["certificate", "entry", "frontier", "expectation", "metric"])
def test_html_is_a_table(results, name):
    page = results[name]._repr_html_()
    assert page.count("<table>") == page.count("</table>") == 1
    assert "array(" not in page


@pytest.mark.parametrize("name", ["certificate", "frontier", "expectation"])
def test_hostile_names_are_escaped(results, name):
    page = results[name]._repr_html_()
    assert ESCAPED in page
    assert HOSTILE not in page
    assert HOSTILE in repr(results[name])


def test_certificate(results):
    lines = repr(results["certificate"]).splitlines()
    assert lines[0] == f"Certificate for {HOSTILE}: exact"
    assert lines[5] == "  loans, over an episode: gap 0, bound 0"  # not 1e-15
    assert repr(results["entry"]).startswith(
        "CertificateEntry(the bank's reward, discounted per visit: values "
    )


def test_an_entry_of_many_groups_names_only_a_few():
    env = bisimulator.make("lending-10-groups", population=10, horizon=20)
    text = repr(certify_table(env, np.ones((10, 7))).main)
    assert "(10 groups)" in text
    assert text.count(",") < 12


def test_frontier_shows_its_ends(results):
    best = results["frontier"]
    lines = repr(best).splitlines()
    assert lines[0] == f"Frontier of {HOSTILE}: best return by min-recall, 31 levels (provable optimum)"
    assert len(lines) == 6
    assert lines[-1].startswith(f"  min-recall 1: {best.value[-1]:.5g} ")
    assert best._repr_html_().count("<tr>") == 1 + 11


def test_frontier_of_an_upper_bound_says_so():
    env = bisimulator.make("lending-conscientiousness", population=5, horizon=20)
    assert "upper bound, not attained" in repr(frontier(env, levels=[0.9]))


def test_expectation_of_many_groups():
    env = bisimulator.make("lending-10-groups", population=10, horizon=20)
    lines = repr(exact.expect(env, np.ones((10, 7)))).splitlines()
    assert lines[-1] == "  ... 10 groups"
    assert len(lines) == 10  # title, 8 groups, and that there are more


def test_expectation_where_nobody_repays():
    env = bisimulator.make("lending", repayment=[0, 0], initial=[[1, 0], [1, 0]], population=2, horizon=4)
    assert "recall nan" in repr(exact.expect(env, np.ones((2, 2))))


def test_metric(results):
    metric = results["metric"]
    assert repr(metric).startswith("Bisimulation(distances: 2 x 2, largest: 1.818, error bound: ")
    assert repr(metric.couplings) == "PairCouplings(2 x 2 states; index with [x, y])"
