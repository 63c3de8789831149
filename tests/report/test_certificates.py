"""How `certify` prints certificates and estimates."""

import io
from itertools import pairwise

import numpy as np
import pytest
from rich.console import Console

import bisimulator
from bisimulator import policies
from bisimulator.evaluation.certify import Estimate, certify
from bisimulator.report.certificates import certificate_table, print_certificate, score_names


@pytest.fixture(scope="module")
def small():
    return bisimulator.make("lending", population=20, horizon=100)


def printed(certificate, env, title):
    console = Console(file=io.StringIO(), width=200)
    print_certificate(certificate, env, title=title, console=console)
    return console.file.getvalue()


def test_certificate_in_print(small):
    certificate = certify(small, policies.thresholds((3, 3)))
    assert certificate.exact
    text = printed(certificate, small, "threshold")
    for words in (
        "threshold on lending: exact",
        "repaid loans",
        "over an episode",
        f"{certificate.gap:.2f}",
        "matched",
    ):
        assert words in text


def test_names_are_printed_as_they_are():
    env = bisimulator.make("lending", population=20, horizon=100, group_names=("[red]", "blue"))
    text = printed(certify(env, policies.thresholds((3, 2))), env, "[bold]")
    assert "[bold] on lending: exact" in text
    assert "group [red]" in text


def test_of_many_groups_a_narrow_terminal_shows_the_lowest_and_the_highest():
    env = bisimulator.make("lending", groups=10, population=10, horizon=20)
    certificate = certify(env, policies.thresholds((3,) * 10))
    console = Console(file=io.StringIO(), width=80)
    console.print(certificate_table(certificate, "threshold", env.group_names))
    lines = console.file.getvalue().splitlines()
    head, first = next((line, after) for line, after in pairwise(lines) if "gap" in line)
    assert "lowest group highest group" in " ".join(head.split())
    values = certificate.main.values
    assert f"{values.min():.2f} " in first
    assert f"{values.max():.2f} " in first


def test_estimates_in_print_say_that_they_are_none(small):
    estimate = Estimate("college", "Because.", np.array([2.0, 1.0]), (0, 1), 1.0, (0.5, 1.5), 10, 5)
    text = printed(estimate, small, "all")
    assert "all: Estimate for college from 10 seeds x 5 episodes, not a proof" in text
    assert "[0.5, 1.5]. Because." in text


def test_scores_are_named_by_their_bins(small):
    assert score_names(small) == ["0", "1", "2", "3", "4", "5", "6"]
    binned = bisimulator.make(
        "lending",
        initial=[[0.5, 0.5]] * 2,
        repayment=[[0.5, 0.5]] * 2,
        score_edges=(300, 600, 850),
    )
    assert len(score_names(binned)) == 2
    assert "600" in score_names(binned)[0]
