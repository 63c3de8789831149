"""`bisimulator audit` and `bisimulator population` as a person calls them."""

import csv
import json

import numpy as np
import pytest

from bisimulator.cli import app as cli

QUICK = ["--seeds", "2", "--episodes", "1", "--set", "population=60", "horizon=120", "reward_default=-2"]


pytestmark = pytest.mark.usefixtures("wide_terminal")


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    rng = np.random.default_rng(0)
    rows = [["race", "points", "paid"]]
    for _ in range(300):
        race = rng.choice(["[red]", "blue"])
        points = int(rng.integers(300, 851))
        rows.append([race, points, int(rng.random() < points / 900)])
    path = tmp_path_factory.mktemp("people") / "people.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def named(people):
    return [str(people), "--group", "race", "--score", "points", "--repaid", "paid", "--bins", "5"]


def test_an_audit_of_one_s_own_people(people, tmp_path, capsys):
    out = tmp_path / "audit"
    command = [
        "audit",
        "blue=500,others=640",
        "--population",
        *named(people),
        "--up",
        "100",
        *QUICK,
        "--out",
        str(out),
    ]
    assert cli.main(command) == 0
    shown = capsys.readouterr().out
    assert "[red]" in shown
    assert "Who is accepted" in shown
    assert "Note: A threshold of 500" in shown
    assert str(out / "index.html") in shown
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "Audit of blue=500,others=640" in page
    assert "300 of people.csv" in page
    with (out / "groups.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["group"] for row in rows} == {"[red]", "blue"}
    assert all(0 <= float(row["recall"]) <= 1 for row in rows)
    with (out / "over_time.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 2 * 25


def test_people_as_settings_of_every_other_command(people, tmp_path, capsys):
    out = tmp_path / "people.json"
    command = ["population", *named(people), "--up", "100", "--set", "reward_default=-3", "--out", str(out)]
    assert cli.main(command) == 0
    shown = capsys.readouterr().out
    assert "people.csv: groups" in shown
    assert f"--set @{out}" in shown
    settings = json.loads(out.read_text(encoding="utf-8"))
    assert settings["group_names"] in (["[red]", "blue"], ["blue", "[red]"])
    assert (settings["score_up"], settings["reward_default"]) == (1, -3)
    quick = ["--seeds", "1", "--episodes", "1", "--set", f"@{out}", "population=30", "horizon=40"]
    assert cli.main(["simulate", "lending", "accept-all", *quick]) == 0
    assert "[red]" in capsys.readouterr().out


def test_a_table_on_the_command_line(tmp_path, capsys):
    path = tmp_path / "table.csv"
    path.write_text("group,score,share,rate\na,1,.5,.4\na,2,.5,.8\nb,1,.2,.4\nb,2,.8,.9\n", encoding="utf-8")
    assert (
        cli.main(["population", str(path), "--share", "share", "--repayment-rate", "rate", "--bins", "2"])
        == 0
    )
    assert "all are assumed to be equally large" in capsys.readouterr().out


WRONG = [
    (["audit", "640"], ["'640' is not the folder of a finished job", "--population people.csv"]),
    (["audit", "640", "--set", "population=3"], ["settings need people"]),
    (["audit", "640", "--population", "nowhere.csv"], ["nowhere.csv does not exist"]),
    (["audit", "640", "--population", "PEOPLE"], ["has no column 'group'", "Known: paid, points, race"]),
    (
        ["audit", "640", "--population", "PEOPLE", "--scenario", "lending"],
        ["--population or --scenario, not both"],
    ),
    (["audit", "3", "--scenario", "college"], ["no exact answer for 'college'"]),
    (["audit", "3", "--scenario", "lendnig"], ["Unknown environment 'lendnig'", "Did you mean 'lending'"]),
    (["population", "PEOPLE", "--repaid", "paid", "--share", "x"], ["columns of records", "name one kind"]),
    (["simulate", "lending", "accept-all", "--set", "@nowhere.json"], ["nowhere.json cannot be read"]),
    (["simulate", "lending", "accept-all", "--set", "@PEOPLE"], ["must hold settings as a JSON object"]),
]


@pytest.mark.parametrize(("arguments", "parts"), WRONG)
def test_wrong_input_is_explained_with_exit_code_2(arguments, parts, people, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main([argument.replace("PEOPLE", str(people)) for argument in arguments]) == 2
    captured = capsys.readouterr()
    for part in parts:
        assert part in captured.err
    assert list(tmp_path.iterdir()) == []  # nothing is left behind
