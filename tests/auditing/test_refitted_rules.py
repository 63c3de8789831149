"""A rule that is refitted while the episode goes on is the same policy on the whole page."""

import csv

import numpy as np
import pytest

import bisimulator
from bisimulator.auditing.analysis import audit_policy
from bisimulator.auditing.audit_output import write_audit
from bisimulator.auditing.audit_page import cell, render_audit
from bisimulator.auditing.read_policy import read_policy
from bisimulator.auditing.section_words import certificate_sentences
from bisimulator.auditing.summary_words import summary_statements
from bisimulator.evaluation.certify import Estimate, certify
from bisimulator.jobs.run import run
from bisimulator.jobs.spec import make_spec
from bisimulator.methods.max_util import Config
from bisimulator.policies.rules import rule_policy

SETTINGS = {"population": 60, "horizon": 240}
SEEDS, EPISODES = 3, 2


@pytest.fixture(scope="module")
def lending():
    return bisimulator.make("lending", **SETTINGS)


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """A finished job of the rule with a configuration of its own."""
    out = tmp_path_factory.mktemp("runs")
    config = {"knows": "seen", "every": 40}
    spec = make_spec("lending", "max-util", config=config, settings=SETTINGS, seeds=SEEDS, episodes=EPISODES)
    return out / spec.name, run(spec, out)


@pytest.fixture(scope="module")
def of_rule(lending):
    return audit_policy(read_policy("max-util", lending), people="", seeds=SEEDS, episodes=EPISODES)


@pytest.fixture(scope="module")
def of_job(job):
    folder, _ = job
    return audit_policy(read_policy(str(folder), None), people="", seeds=SEEDS, episodes=EPISODES)


def check_against(result, expected):
    """Every number on the page is that of the evaluation."""
    assert result.consequences.evaluation.episodes.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(result.consequences.evaluation.episodes[name], values, rtol=1e-6)


def test_the_numbers_of_the_page_are_those_of_evaluate(of_rule, lending):
    policy = rule_policy("max-util", lending)
    evaluation = bisimulator.evaluate(lending, policy, seeds=SEEDS, episodes=EPISODES)
    check_against(of_rule, evaluation.episodes)
    summary = evaluation.summary
    assert of_rule.earned == pytest.approx(summary["average_return"][0])
    for g in range(2):
        for column in ("approval_rate", "recall", "precision"):
            mean, half = summary[f"{column}_g{g + 1}"]
            assert cell(of_rule, column, g) == f"{100 * mean:.1f}% ± {100 * half:.1f}"
    approved = of_rule.trajectories.approval_rate * of_rule.trajectories.sums[..., 0]
    np.testing.assert_allclose(approved.sum(0), evaluation.outcome.count("approved").sum((0, 1)), rtol=1e-6)


def test_the_summary_has_the_intervals_of_a_simulation(of_rule):
    text = dict(summary_statements(of_rule))
    mean, half = of_rule.consequences.evaluation.summary["average_return"]
    assert text["What it earns"].startswith(f"{mean:,.0f} ± {half:,.0f} over the whole time")
    rates = [of_rule.consequences.evaluation.summary[f"approval_rate_g{g}"] for g in (1, 2)]
    _, half = max(rates)
    assert f" ± {100 * half:.1f}% of applications are accepted" in text["Who is accepted"]


def test_the_certificate_is_the_estimate_of_certify(of_rule, lending):
    estimate = certify(lending, rule_policy("max-util", lending), seeds=SEEDS, episodes=EPISODES)
    assert isinstance(of_rule.certificate, Estimate)
    assert (of_rule.certificate.gap, of_rule.certificate.interval) == (estimate.gap, estimate.interval)
    np.testing.assert_array_equal(of_rule.certificate.values, estimate.values)
    assert "refitted during the episode" in certificate_sentences(of_rule)[0]
    assert (of_rule.is_exact, of_rule.table, of_rule.looks_at_group) == (False, None, False)


@pytest.mark.long
def test_a_finished_job_keeps_its_own_configuration(of_job, job, lending):
    _, result = job
    check_against(of_job, result.columns)
    policy = rule_policy("max-util", lending, Config(knows="seen", every=40))
    evaluation = bisimulator.evaluate(lending, policy, seeds=SEEDS, episodes=EPISODES)
    check_against(of_job, evaluation.episodes)
    assert of_job.audited.policy.knows == "seen"
    assert of_job.audited.description.endswith("(knows seen, every 40).")


def test_the_configuration_matters(of_job, of_rule):
    ours, default = (r.consequences.evaluation.episodes["average_return"] for r in (of_job, of_rule))
    assert (ours != default).any()


def test_a_finished_job_keeps_its_configuration_with_other_people(job):
    folder, _ = job
    env = bisimulator.make("lending", population=30, horizon=60)
    other = read_policy(str(folder), env)
    assert other.env is env
    assert (other.policy.knows, other.policy.every) == ("seen", 40)


def test_the_files_have_the_same_numbers(of_job, job, tmp_path):
    _, result = job
    written = write_audit(of_job, render_audit(of_job), tmp_path)
    assert [path.name for path in written[:3]] == ["index.html", "groups.csv", "over_time.csv"]
    page = written[0].read_text(encoding="utf-8")
    assert "Audit: max-util" in page
    with written[1].open(encoding="utf-8") as file:
        for g, row in enumerate(csv.DictReader(file), start=1):
            for column in ("approval_rate", "recall", "precision"):
                mean, half = result.summary[f"{column}_g{g}"]
                assert float(row[column]) == pytest.approx(mean)
                assert float(row[f"{column}_half_width"]) == pytest.approx(half)
