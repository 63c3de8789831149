"""`bisimulator audit` and `bisimulator population` as a person calls them."""

import csv
import json
import re

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


def test_a_hand_made_file_from_population_to_a_page(tmp_path, capsys):
    rng = np.random.default_rng(100)
    rows = ["Gruppe;Punkte;gezahlt"]
    for i in range(320):
        points = "" if i % 80 == 0 else int(rng.integers(300, 851))
        paid = "yes" if rng.random() < 0.7 else "no"
        rows.append(f"{('Süd', 'Österreich', 'Łódź', '[red]')[i % 4]};{points};{paid}")
    path, out = tmp_path / "Leute.csv", tmp_path / "audit"
    path.write_text("\n".join(rows), encoding="utf-8")
    named = ["--group", "Gruppe", "--score", "Punkte", "--repaid", "gezahlt", "--missing", "drop"]
    named += ["--score-range", "300", "850", "--bins", "2"]
    assert cli.main(["population", str(path), *named]) == 0
    shown = capsys.readouterr().out
    assert "300-575" in shown
    assert "4 of 320 rows were dropped" in shown
    policy = "Süd=640,others=620"
    assert cli.main(["audit", policy, "--population", str(path), *named, *QUICK, "--out", str(out)]) == 0
    page = (out / "index.html").read_text(encoding="utf-8")
    assert re.search(r"<h1>Audit: accept .*Süd from 640.*</h1>", page)
    assert "Süd from score 640" in page
    assert all(f"{name} from score 620" in page for name in ("Österreich", "Łódź", "[red]"))
    assert "316 of Leute.csv" in page
    shown = capsys.readouterr().out
    assert "[red]" in shown
    assert "Who is accepted" in shown
    assert "nobody set it" not in shown.split("What a default costs")[1].split(")")[0]
    assert str(out / "index.html") in shown
    with (out / "groups.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["group"] for row in rows} == {"Süd", "Österreich", "Łódź", "[red]"}
    assert all(0 <= float(row["recall"]) <= 1 for row in rows)
    with (out / "over_time.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 4 * 25


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


def test_past_decisions_and_intersections_on_the_command_line(tmp_path, capsys):
    path = tmp_path / "past.csv"
    rows = [
        f"{race},{sex},{score},{int(score > 400)},{int(score % 3 > 0) if score > 400 else ''}"
        for race in "ab"
        for sex in "fm"
        for score in range(300, 700, 4)
    ]
    path.write_text("\n".join(["race,sex,score,approved,paid", *rows]), encoding="utf-8")
    named = ["--group", "race", "sex", "--repaid", "paid", "--accepted", "approved", "--bins", "2"]
    assert cli.main(["population", str(path), *named]) == 0
    shown = capsys.readouterr().out
    assert "accepted in the past" in shown
    assert "a & f" in shown


WRONG = [
    (["audit", "640"], ["'640' is not the folder of a finished job", "--population people.csv"]),
    (["audit", "640", "--set", "population=3"], ["settings need people"]),
    (["audit", "640", "--population", "nowhere.csv"], ["nowhere.csv does not exist"]),
    (["audit", "640", "--population", "PEOPLE"], ["has no column 'group'", "Known: paid, points, race"]),
    (
        ["audit", "640", "--population", "PEOPLE", "--scenario", "lending"],
        ["--population or --scenario, not both"],
    ),
    (["audit", "600", "--scenario", "lending", "--gamma", "2"], ["gamma=2 is about people", "accepted="]),
    (["audit", "900", "--scenario", "lending-us-2003"], ["a score from 300 to below 850, got 900"]),
    (["audit", "3", "--scenario", "college"], ["an audit needs a lending environment", "'college'"]),
    (["audit", "640", "--scenario", "attention"], ["an audit needs a lending environment", "'attention'"]),
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


def test_a_model_file_of_further_columns(tmp_path, capsys):
    """From a file with semicolons and umlauts to a page, with a skops model of two columns."""
    skops, linear = pytest.importorskip("skops.io"), pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(100)
    points, income = rng.integers(300, 851, 200), rng.normal(40, 12, 200).round(1)
    paid = (rng.random(200) < points / 900).astype(int)
    model = linear.LogisticRegression().fit(np.column_stack([points, income]), points + 5 * income > 800)
    skops.dump(model, tmp_path / "model.skops")
    rows = [f"{'Süd' if i % 3 else 'Łódź'};{points[i]};{income[i]};{paid[i]}" for i in range(200)]
    path, out = tmp_path / "Leute.csv", tmp_path / "audit"
    path.write_text("\n".join(["Gruppe;Punkte;Löhne;gezahlt", *rows]), encoding="utf-8")
    columns = [
        "--group",
        "Gruppe",
        "--score",
        "Punkte",
        "--repaid",
        "gezahlt",
        "--features",
        "Löhne",
        "--bins",
        "2",
    ]
    command = ["audit", str(tmp_path / "model.skops"), "--population", str(path), *columns, "--accepts", "1"]
    assert cli.main([*command, *QUICK, "--out", str(out)]) == 0
    assert "The model model.skops, given score, Löhne, accepts whom it predicts" in capsys.readouterr().out
    assert "each of the 200 people of the data at each of the 2 bins" in (out / "index.html").read_text(
        "utf-8"
    )
