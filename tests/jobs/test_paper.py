"""The jobs behind the paper's tables."""

import pytest

from bisimulator import published, registry
from bisimulator.jobs.papers import paper_jobs
from bisimulator.jobs.papers.bisimulator_paper import paper_methods


def test_every_row_of_every_table_has_its_job():
    specs = paper_jobs()
    found = [(s.scenario, registry.lookup("method", s.method).published) for s in specs]
    rows = dict.fromkeys((scenario, method) for scenario, method, _ in published.results())
    assert set(found) == set(rows)
    assert len(found) == len(rows)
    for name in registry.names("environment"):
        assert [row for row in found if row[0] == name] == [row for row in rows if row[0] == name]
    assert {(len(s.seeds), s.steps, s.episodes) for s in specs if s.solver} == {(10, 400_000, 5)}
    assert {s.curve_every for s in specs if s.solver} == {10_000}


def test_methods_the_paper_has_no_row_for_are_left_out():
    assert "accept-all" not in paper_methods("lending")
    assert paper_methods("lending-10-groups")[-1] != "dqn"
    assert paper_methods("nowhere") == []


def test_some_scenarios_and_methods():
    specs = paper_jobs(["college", "lending"], ["dqn", "accept-all", "dqn"], seeds=1)
    assert [(s.scenario, s.method) for s in specs] == [
        ("college", "dqn"),
        ("college", "accept-all"),
        ("lending", "dqn"),
        ("lending", "accept-all"),
    ]


def test_they_are_the_jobs_of_compare():
    """Everything at its default, so that results are shared."""
    from bisimulator.jobs.spec import make_spec

    assert paper_jobs(["lending"], ["ppo"])[0].name == make_spec("lending", "ppo").name


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"scenarios": ["colege"]}, "Unknown environment 'colege'.*'college'"),
        ({"methods": ["pop"]}, "Unknown method 'pop'.*'ppo'"),
        ({"seeds": 0}, "seeds must be at least 1, got 0"),
        ({"steps": 3}, "steps must be at least"),
    ],
)
def test_wrong_choices_are_explained(wrong, message):
    with pytest.raises(ValueError, match=message):
        paper_jobs(**wrong)
