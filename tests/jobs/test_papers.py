"""The papers that can be reproduced: their numbers, their jobs, and which job stands beside which number."""

import pytest

from bisimulator import published, registry
from bisimulator.jobs.paper import plan_jobs
from bisimulator.jobs.papers import DEFAULT, PAPERS, find_paper, paper_jobs

OTHERS = [name for name in PAPERS if name != DEFAULT]


@pytest.mark.parametrize("name", OTHERS)
def test_every_published_row_has_exactly_one_job(name):
    planned = plan_jobs(PAPERS[name])
    rows = [(job.spec.scenario, job.row) for job in planned if job.row]
    assert sorted(rows) == sorted({(scenario, row) for scenario, row, _ in published.points(name)})
    assert len({job.spec.name for job in planned}) == len(planned)


@pytest.mark.parametrize("name", OTHERS)
def test_every_published_number_names_its_source_and_is_a_column(name):
    from bisimulator.metrics import column

    for (scenario, _, metric), point in published.points(name).items():
        assert scenario in registry.names("environment")
        assert column(metric).title
        assert point.source
        assert point.error >= point.reading_error * abs(point.mean)
        assert point.error >= point.rounding > 0


def test_a_number_is_known_to_half_a_unit_of_its_last_digit():
    points = published.points("damour")
    assert points["attention", "uniform", "reward_per_step"].error == pytest.approx(0.005)
    assert points["lending-delayed-impact", "everybody", "reward_per_step"].error == pytest.approx(0.0005)
    assert points["attention", "uniform, constant rates", "incidents_seen"].error == pytest.approx(0.5)


def test_numbers_that_were_read_off_carry_their_reading_error():
    of_elbert = published.points("elbert").values()
    assert {point.reading_error for point in of_elbert if not point.simulated} == {0.02}
    printed = [p for p in published.points("damour").values() if p.source.startswith("table")]
    assert len(printed) == 4
    assert {point.reading_error for point in printed} == {0.0}


def test_elbert_has_goals_and_rules_beside_its_methods():
    specs = paper_jobs(paper="elbert")
    for scenario in ("lending-delayed-impact", "infectious-harder", "attention-harder"):
        here = [spec for spec in specs if spec.scenario == scenario]
        assert {"ppo", "r-ppo", "a-ppo", "elbert"} <= {spec.method for spec in here if not spec.goal}
        assert any(spec.goal for spec in here)
        assert any(spec.solver is None for spec in here)
        assert {len(spec.episodes * spec.seeds) > 0 for spec in here} == {True}
    assert max(spec.steps for spec in specs) <= 2_000_000


def test_what_is_given_goes_before_the_paper():
    (job,) = plan_jobs(PAPERS["elbert"], ["infectious-harder"], ["elbert"], seeds=[7], steps=8192)
    assert (job.row, job.spec.seeds, job.spec.steps) == ("ELBERT-PO", (7,), 8192)
    assert job.spec.config.a == 50
    whole, part = (
        plan_jobs(PAPERS["elbert"], ["infectious-harder"], ["elbert"], share=share)[0].spec.steps
        for share in (1.0, 0.5)
    )
    assert part == whole // 2


def test_a_method_that_the_paper_does_not_have_is_run_with_the_defaults():
    (job,) = plan_jobs(PAPERS["damour"], ["lending-delayed-impact"], ["reject-all"])
    assert (job.spec.method, job.row, job.spec.episodes) == ("reject-all", "", 5)


def test_an_unknown_paper_is_explained():
    with pytest.raises(ValueError, match=r"Unknown paper 'elbrt'.*'elbert'"):
        find_paper("elbrt")
