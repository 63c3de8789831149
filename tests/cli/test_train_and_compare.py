"""`bisimulator train` and `bisimulator compare` as a person meets them."""

import dataclasses
import json
import os
import signal

import pytest

from bisimulator import registry
from bisimulator.api import _running
from bisimulator.cli import app as cli
from bisimulator.jobs import executors
from bisimulator.solvers import trainer
from tests.small import FEW, JOB, METHOD, METHOD_OPTIONS, SET, SETTINGS, SOLVER_OPTIONS, on_command_line

TRAIN = ["train", "lending", METHOD, *on_command_line(METHOD_OPTIONS, "method.")]
TINY = [*on_command_line(SOLVER_OPTIONS, "solver."), *on_command_line(JOB)]


@pytest.fixture(autouse=True, scope="module")
def wide_terminal():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "160")
        yield


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    assert cli.main([*TRAIN, *TINY, *SET, "--out", str(out)]) == 0
    (folder,) = (out / "lending").iterdir()
    return out, folder


def test_options_arrive_in_the_stored_configuration(trained):
    _, folder = trained
    config = json.loads((folder / "config.json").read_text())
    assert config["config"]["alpha"] == 2
    assert config["config"]["hidden"] == [4]
    assert config["solver"]["num_envs"] == 2
    assert config["settings"] == SETTINGS
    assert (config["steps"], config["seeds"], config["episodes"]) == (80, [0, 1], 2)


def test_a_second_start_shows_the_kept_result(trained, capsys, monkeypatch):
    out, folder = trained
    monkeypatch.setattr(trainer, "train", lambda *args, **keywords: pytest.fail("trained again"))
    assert cli.main([*TRAIN, *TINY, *SET, "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "ppo-bisimulator-reward" in shown
    assert "3568" in shown  # the published return of the same method
    assert str(folder) in shown


def test_options_may_come_before_the_names(trained, monkeypatch):
    out, folder = trained
    monkeypatch.setattr(trainer, "train", lambda *args, **keywords: pytest.fail("another job"))
    arguments = ["train", *TRAIN[3:], *TINY, "--out", str(out), *TRAIN[1:3], *SET]
    assert cli.main(arguments) == 0
    assert list((out / "lending").iterdir()) == [folder]


def test_ctrl_c_gives_130_and_the_second_start_ends_with_the_same_numbers(
    trained, tmp_path, capsys, monkeypatch
):
    _, undisturbed = trained
    monkeypatch.setattr(trainer, "_SECONDS_PER_CHUNK", 0.0)
    command = [*TRAIN, *TINY, *SET, "--out", str(tmp_path)]
    run = executors.run

    def pressing(spec, out, on_progress, **options):
        def press(progress):
            on_progress(progress)
            if progress.update == 3:
                os.kill(os.getpid(), signal.SIGINT)

        return run(spec, out, press, **options)

    with monkeypatch.context() as patch:
        patch.setattr(executors, "run", pressing)
        assert cli.main(command) == 130
    assert "stopped after 3 of 10 updates" in capsys.readouterr().err
    (folder,) = (tmp_path / "lending").iterdir()
    assert (folder / "checkpoint.npz").exists()
    assert cli.main(command) == 0
    assert not (folder / "checkpoint.npz").exists()
    for name in ("weights.npz", "episodes.csv"):
        assert (folder / name).read_bytes() == (undisturbed / name).read_bytes()


def test_ctrl_c_at_any_other_moment_gives_130_without_a_traceback(capsys, monkeypatch):
    def stop(*args, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr(_running, "run_jobs", stop)
    assert cli.main(["train", "lending", "ppo", "--seeds", "1"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def help_of(arguments, capsys):
    with pytest.raises(SystemExit) as raised:
        cli.main(arguments)
    assert raised.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", ["ppo-bisimulator", "dqn"])
def test_help_shows_every_hyperparameter(name, capsys):
    shown = help_of(["train", "lending", name, "--help"], capsys)
    entry = registry.lookup("method", name)
    configs = {"method": entry.config, "solver": trainer.SOLVERS[entry.solver][1]()}
    for group, config in configs.items():
        for field in dataclasses.fields(config):
            assert f"--{group}.{field.name.replace('_', '-')}" in shown


def test_help_says_what_a_hyperparameter_means_and_what_it_is_by_default(capsys):
    shown = " ".join(help_of(["train", "--help"], capsys).split())
    assert "weight of the reward correction" in shown
    assert "default: 5.0" in shown
    assert "discount factor" in shown
    assert "--method.alpha" in help_of(["train", "lending", "dqn-bisimulator", "--help"], capsys)


def test_a_rule_is_evaluated_and_kept_with_its_options(tmp_path, capsys):
    options = ["--method.knows", "seen", *FEW, "--out", str(tmp_path)]
    assert cli.main(["train", "lending", "max-util", *options]) == 0
    assert "max-util" in capsys.readouterr().out
    (config,) = tmp_path.rglob("config.json")
    assert json.loads(config.read_text())["config"] == {"knows": "seen", "every": 100}


WRONG = [
    (["train", "lending", "ppo-bisimulatr"], ["Unknown method 'ppo-bisimulatr'", "'ppo-bisimulator'"]),
    (["train", "lendin", "ppo"], ["Unknown environment 'lendin'", "'lending'"]),
    (["train", "lending", "max-util", "--method.every", "-1"], ["every must be at least 0, got -1"]),
    (["train", "lending", "ppo", "--seeds", "0"], ["seeds must be at least 1, got 0"]),
    (["train", "lending", "ppo", "--steps", "3"], ["steps must be at least 512, got 3"]),
    (["train", "lending", "ppo", "--episodes", "0"], ["episodes must be at least 1, got 0"]),
    (["train", "lending", "ppo", "--solver.minibatch", "100"], ["minibatch must divide", "512, got 100"]),
    (["train", "lending", "ppo", "--solver.num-envs", "0"], ["num_envs must be at least 1, got 0"]),
    (["train", "lending", "ppo", "--solver.hidden", "0"], ["hidden layer must be at least 1, got 0"]),
    (["train", "lending", "ppo", "--solver.gamma", "1.5"], ["gamma must lie in [0, 1], got 1.5"]),
    (["train", "lending", "ppo", "--solver.learning-rate", "nan"], ["learning_rate must be finite"]),
    (["train", "lending", "dqn", "--solver.capacity", "1"], ["capacity must be at least 64, got 1"]),
    (
        ["train", "lending", "ppo-bisimulator", "--method.quantiles", "0"],
        ["quantiles must be at least 1, got 0"],
    ),
    (
        ["train", "lending", "ppo-bisimulator", "--method.reward-steps", "0"],
        ["reward_steps must be at least 1"],
    ),
    (["train", "lending", "ppo", "--set", "population=0"], ["population must be at least 1, got 0"]),
    (["compare", "lending", "--methods", "ppo,dqm"], ["Unknown method 'dqm'", "'dqn'"]),
    (["compare", "colege"], ["Unknown environment 'colege'", "'college'"]),
    (["compare", "lending", "--seeds", "-1"], ["seeds must be at least 1, got -1"]),
]


@pytest.mark.parametrize(("arguments", "parts"), WRONG)
def test_wrong_input_is_explained_with_exit_code_2(arguments, parts, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        code = cli.main(arguments)
    except SystemExit as stopped:  # the parser's own way to say so
        code = stopped.code
    assert code == 2
    told = " ".join(capsys.readouterr().err.replace("│", " ").split())
    for part in parts:
        assert part in told
    assert "Traceback" not in told
    assert not list(tmp_path.iterdir())


def test_an_option_that_is_no_number_is_refused(capsys):
    with pytest.raises(SystemExit) as raised:
        cli.main(["train", "lending", "ppo-bisimulator", "--method.alpha", "two"])
    assert raised.value.code == 2
    assert "alpha" in capsys.readouterr().err


def test_compare_writes_its_files_and_says_where(tmp_path, capsys):
    command = ["compare", "lending", "--methods", "accept-all, threshold", *FEW, "--out", str(tmp_path)]
    assert cli.main(command) == 0
    shown = capsys.readouterr().out
    assert "accept-all" in shown
    assert (tmp_path / "lending" / "summary.csv").read_text().startswith("scenario,method,metric,mean,ci95\n")
    assert (
        (tmp_path / "lending" / "episodes.csv")
        .read_text()
        .startswith("scenario,method,seed,episode,metric,value\n")
    )


def test_results_of_two_scenarios_in_one_folder_do_not_overwrite_each_other(tmp_path):
    for scenario in ("lending", "college"):
        assert cli.main(["compare", scenario, "--methods", "accept-all", *FEW, "--out", str(tmp_path)]) == 0
    for scenario in ("lending", "college"):
        rows = (tmp_path / scenario / "summary.csv").read_text().splitlines()[1:]
        assert rows
        assert all(row.startswith(f"{scenario},accept-all,") for row in rows)


def test_compare_tries_every_value_of_an_option_and_labels_the_variants(tmp_path, capsys):
    command = ["compare", "lending", "--methods", "max-util,accept-all", "--method.every", "0", "10"]
    assert cli.main([*command, *FEW, "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    for label in ("max-util (every 0)", "max-util (every 10)", "accept-all"):
        assert label in shown
    assert cli.main(["runs", "list", "--out", str(tmp_path)]) == 0
    assert "population 12, horizon 20, every 10" in capsys.readouterr().out


def test_a_job_that_fails_does_not_stop_the_others_and_the_exit_code_says_so(tmp_path, capsys, monkeypatch):
    run = executors.run

    def spoiled(spec, *args, **options):
        if spec.method == "threshold":
            raise FloatingPointError("update 3: the loss became NaN or infinite")
        return run(spec, *args, **options)

    monkeypatch.setattr(executors, "run", spoiled)
    methods = ["--methods", "accept-all,threshold,reject-all"]
    assert cli.main(["compare", "lending", *methods, *FEW, "--out", str(tmp_path)]) == 3
    shown = capsys.readouterr()
    assert "1 of 3 jobs failed: lending threshold: update 3: the loss became NaN or infinite" in shown.err
    written = (tmp_path / "lending" / "summary.csv").read_text()
    assert "accept-all" in written
    assert "reject-all" in written


def test_report_of_any_folder_of_jobs(tmp_path, capsys):
    assert cli.main(["compare", "lending", "--methods", "accept-all", *FEW, "--out", str(tmp_path)]) == 0
    assert cli.main(["report", str(tmp_path), "--out", str(tmp_path / "page")]) == 0
    assert (tmp_path / "page" / "report.html").exists()
    assert (tmp_path / "page" / "tables" / "lending.tex").exists()
    assert "1 jobs: lending" in capsys.readouterr().out
    assert cli.main(["report", str(tmp_path / "nowhere")]) == 2
    assert "there is no folder" in capsys.readouterr().err


def test_certify_without_a_job_lists_the_finished_trainings(trained, tmp_path, capsys):
    out, folder = trained
    assert cli.main(["certify", "--out", str(out)]) == 0
    assert f"bisimulator certify {folder}" in capsys.readouterr().out
    assert cli.main(["certify", "--out", str(tmp_path)]) == 0
    assert "bisimulator train lending ppo" in capsys.readouterr().out


@pytest.fixture
def planned(monkeypatch):
    """The jobs that a command is about to run, instead of running them."""
    specs = []

    def stop(jobs, *args, **options):
        specs.extend(jobs)
        raise KeyboardInterrupt

    monkeypatch.setattr(_running, "run_jobs", stop)
    return specs


def test_solver_options_that_are_typed_win_over_the_defaults_of_a_view(planned):
    for options in ([], ["--solver.gamma", "0.99"]):
        assert cli.main(["train", "lending", "ppo", "--view", "life", *options]) == 130
    assert [spec.solver.gamma for spec in planned] == [1.0, 0.99]


def test_a_goal_with_its_control_and_levels_of_a_goal_become_jobs(planned):
    goal = ["--goal", "min-recall=0.9", "--control.eta", "0.2"]
    assert cli.main(["train", "lending", "ppo", *goal]) == 130
    assert (
        cli.main(["train", "lending", "ppo", "--sweep-goal", "min-recall=0.8:1:0.1", "--group-blind"]) == 130
    )
    assert [spec.goal for spec in planned] == [f"min-recall={level}" for level in (0.9, 0.8, 0.9, 1)]
    assert [(spec.control.eta, spec.control.proportional) for spec in planned[:2]] == [(0.2, 20), (0.4, 20)]
    assert [spec.solver.group_blind for spec in planned] == [False, True, True, True]
