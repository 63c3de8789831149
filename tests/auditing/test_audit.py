"""`bisimulator.audit`: one function for every kind of policy and people."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator import policies
from bisimulator.auditing.audit_arguments import people_of, policy_of
from bisimulator.auditing.models import ModelOptions


@pytest.fixture(scope="module")
def population():
    rng = np.random.default_rng(100)
    score = rng.integers(300, 851, 1200)
    repaid = rng.random(1200) < score / 900
    group = np.where(rng.random(1200) < 0.6, "a", "b")
    return bisimulator.Population.from_frame({"group": group, "score": score, "repaid": repaid}, bins=4)


@pytest.fixture(scope="module")
def found(population):
    return bisimulator.audit(
        {"a": 640, "others": 620},
        population,
        goal="min-recall=0.9",
        reward_default=-2,
        population=100,
        horizon=300,
    )


def test_the_verdict_is_data(found):
    verdict = found.verdict
    assert verdict.policy == "Accepts a from score 640, b from score 620 on."
    assert verdict.exact
    assert verdict.looks_at_group
    assert verdict.bound == pytest.approx(verdict.earned + verdict.regret)
    assert verdict.regret > 0
    assert verdict.defaults == ("How far a loan moves a score",)
    assert verdict.smallest_recall == found.result.row.smallest_recall
    assert verdict.fairer_policy.row.earned >= verdict.earned
    assert [goal.met for goal in verdict.goals] == [False]


def test_page_tables_and_files_are_of_the_same_audit(found, tmp_path):
    names = [path.stem for path in found.save(tmp_path)]
    assert names == ["index", "groups", "over_time", "fairer_policy", "policy_for_min-recall"]
    assert names[1:] == list(found.tables)
    assert (tmp_path / "index.html").read_text(encoding="utf-8") == found.page
    first, second = found.tables["groups"]
    assert (first["group"], second["group"]) == ("a", "b")
    assert first["recall"] == found.result.groups["recall"][0][0]
    assert len(found.tables["over_time"]) == 2 * 25
    assert [title for title, _ in found.statements][:2] == ["The goal min-recall=0.9", "Who is accepted"]


def test_tables_as_frames(found):
    pytest.importorskip("pandas")
    assert found.to_frame().loc[1, "group"] == "b"
    assert "approval_rate" in found.to_frame("over_time")


def test_it_is_short_in_a_notebook(found):
    lines = repr(found).splitlines()
    assert lines[0] == "Audit: accept a from 640, b from 620, people: 1,200 of the dict"
    assert lines[-1] == "  defaults nobody set: How far a loan moves a score"
    assert len(lines) == 5
    assert "<table>" in found._repr_html_()


def test_it_is_public():
    assert {"audit", "Audit"} <= set(dir(bisimulator))
    assert bisimulator.audit.__module__ == "bisimulator.auditing.audit"


def audited(policy, env, **options):
    return policy_of(policy, env, ModelOptions(), None, **{"in_bins": False, "seed": None} | options)


def approve(score, group):
    return score >= 700


@dataclasses.dataclass
class Training:
    spec: object
    own: object

    def env(self, seed=None):
        return self.own

    def policy(self, seed=None):
        return policies.Network(lambda obs: obs, True)


def test_every_kind_of_policy(env):
    assert audited(600, env).name == audited("600", env).name == "accept from 600"
    assert audited(2, env, in_bins=True).description.startswith("Accepts everybody from score 600")
    assert audited({"down": 450, "others": 600.0}, env).name == "accept <b>up</b> from 600, down from 450"
    assert audited("accept-all", env).name == "accept-all"
    assert audited(approve, env).name == "approve"
    assert isinstance(audited(policies.accept_all(), env).policy, policies.Constant)
    assert isinstance(audited(np.ones((2, 4)), env).policy, policies.Table)
    with pytest.raises(TypeError, match=r"as a policy; pass bisimulator\.policies"):
        audited(None, env)
    with pytest.raises(ValueError, match="people are needed to audit int"):
        audited(600, None)


def test_a_training_is_audited_with_its_own_people_or_others(env):
    from bisimulator.jobs.spec import Spec

    own = bisimulator.make("lending", omega=jnp.full((2, 2), 1.5))
    training = Training(Spec("lending", "ppo", seeds=(4, 5), solver="ppo"), own)
    assert (audited(training, None).env, audited(training, None, seed=5).name) == (own, "ppo (seed 5)")
    np.testing.assert_array_equal(audited(training, env).env.params.omega, own.params.omega)


def test_every_kind_of_people(env, population):
    whose = people_of(population, {"reward_default": -3})
    assert float(whose.env.params.reward_default) == -3
    assert (whose.source, whose.notes, whose.past) == ("1,200 of the dict", population.notes, None)
    np.testing.assert_array_equal(whose.count_people(population.edges), population.people)
    assert people_of("lending", {"population": 50})[0].params.population == 50
    assert people_of(env, {})[:2] == (env, "those of lending")
    with pytest.raises(ValueError, match=r"settings \(horizon\) need people"):
        people_of(env, {"horizon": 3})
    with pytest.raises(
        TypeError, match="people must be a Population, an environment or a scenario's name, got int"
    ):
        people_of(3, {})


@pytest.mark.parametrize("wrong", [{"group_blind": []}, {"in_bins": np.ones(3)}, {"progress": "yes"}])
def test_flags_are_true_or_false(env, wrong):
    with pytest.raises(ValueError, match="must be true or false, got"):
        bisimulator.audit(500, env, **wrong)


def test_a_function_that_does_not_tell_its_arguments_is_refused(env):
    with pytest.raises(TypeError, match="a policy must be a function of"):
        bisimulator.audit(int, env)
