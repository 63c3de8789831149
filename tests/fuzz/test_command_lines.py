"""Odd command lines: an exit code and a message, never a traceback."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bisimulator.cli import app as cli
from tests.fuzz.odd_values import EXAMPLES

WORDS = st.one_of(
    st.sampled_from(
        [
            "list",
            "show",
            "verify",
            "clean",
            "runs",
            "report",
            "population",
            "frontier",
            "simulate",
            "audit",
            "certify",
            "lending",
            "college",
            "ppo",
            "accept-all",
            "--out",
            "--set",
            "--yes",
            "--all",
            "--seeds",
            "--runs",
            "--figure",
            "--csv",
            "--bins",
            "--edges",
            "--group",
            "--encoding",
            "--help",
            "--version",
            "-h",
            "--levels",
            "--goal",
            "--criterion",
            "population=5",
            "horizon=x",
            "@people.csv",
            "people.csv",
            "store",
            "nowhere",
            ".",
            "3",
            "-1",
            "0.5",
            "1e99",
            "10000000000000000000000000000000",
            "[",
            "]",
            "{}",
            "nan",
            "--out=",
            "--set=",
            "--=x",
            "--",
            "-",
            "''",
        ]
    ),
    # nothing above the test's own folder, because of `runs clean`
    st.text(max_size=6).filter(lambda text: not {"\0", "/", ".."} & {*text, text}),
)
# commands that end at once, whatever their arguments are
COMMANDS = st.sampled_from(
    [[], ["list"], ["runs"], ["runs", "list"], ["runs", "verify"], ["report"], ["population"]]
)
REFUSED = st.sampled_from(
    [
        ["simulate", "lending", "accept-all", "--seeds", "0"],
        ["train", "lending", "ppo", "--steps", "0"],
        ["compare", "lending", "--methods", "nothing"],
        ["reproduce", "--methods", "nothing"],
        ["frontier", "college"],
        ["certify", "nowhere"],
        ["audit", "nothing", "--scenario", "lending"],
    ]
)


@EXAMPLES
def test_every_command_line_ends_with_a_code(examples, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "store").mkdir()
    (tmp_path / "people.csv").write_text("group,score,repaid\na,600,1\nb,700,0\n")

    @settings(max_examples=examples, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(command=st.one_of(COMMANDS, REFUSED), rest=st.lists(WORDS, max_size=4))
    def check(command, rest):
        try:
            code = cli.main([*command, *rest])
        except SystemExit as end:  # how the parser of arguments ends
            code = end.code
        assert code in (0, 1, 2, 3, None)
        text = capsys.readouterr()
        assert "Traceback" not in text.err + text.out
        assert "\x1b" not in text.out

    check()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "lending", "accept-all", "--seeds", "10" * 15], "seeds must be at most"),
        (["frontier", "lending", "--figure", "out/"], "the figure's file must end in .svg"),
        (["simulate", "lending", "accept-all", "--seeds", "2", "--seeds", "3"], "--seeds stands twice"),
        (["simulate", "lending", "accept-all", "--set", "population=5", "population=6"], "population twice"),
        (
            ["simulate", "lending", "accept-all", "--set", "population=5", "--set", "popluation=6"],
            "'popluation'",
        ),
        (["train", "lending", "ppo", "--solver.clip", "-1"], "clip must lie in"),
        (["train", "lending", "ppo", "--solver.max-grad-norm", "0"], "max_grad_norm must lie in"),
        (["train", "lending", "ppo-bisimulator", "--method.alpha", "-5"], "alpha must lie in"),
        (["simulate", "lending", "accept-all", "--set", "reward_repaid=1e39"], "reward_repaid must lie in"),
    ],
)
def test_wrong_command_lines_are_explained(arguments, message, capsys):
    try:
        code = cli.main(arguments)
    except SystemExit as end:  # how the parser of arguments ends
        code = end.code
    captured = capsys.readouterr()
    assert code == 2
    assert message in captured.err + captured.out
