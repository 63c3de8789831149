"""The options that train, compare and reproduce share."""

from pathlib import Path

import pytest

from bisimulator.cli._job_options import JobOptions, split_names
from bisimulator.jobs.papers import paper_jobs
from bisimulator.jobs.spec import Spec, make_spec


def test_the_defaults_are_those_of_a_job():
    assert make_spec("lending", "ppo", **JobOptions().spec_fields) == make_spec("lending", "ppo")
    asked = JobOptions(goal=("min-recall=0.9",)).spec_fields
    assert make_spec("lending", "ppo", **asked) == make_spec("lending", "ppo", goal="min-recall=0.9")


def test_quick_is_two_seeds_and_a_tenth_of_the_steps():
    fields = JobOptions(quick=True).spec_fields
    assert (fields["seeds"], fields["steps"]) == (2, Spec.steps // 10)
    specs = paper_jobs(**fields)
    assert len(specs) == len(paper_jobs())
    assert {spec.seeds for spec in specs} == {(0, 1)}


def test_what_is_said_wins_over_quick():
    fields = JobOptions(quick=True, seeds=3, steps=5000).spec_fields
    assert (fields["seeds"], fields["steps"]) == (3, 5000)


def test_an_address_without_ray_is_refused():
    with pytest.raises(ValueError, match="--ray-address auto needs --executor ray"):
        JobOptions(ray_address="auto", out=Path("nowhere"))._executor()


def test_names_are_split_at_commas():
    assert split_names("a, b,c") == ["a", "b", "c"]
    assert split_names(None) is None
