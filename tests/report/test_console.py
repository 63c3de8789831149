"""What is printed is text: names of groups and files cannot move the cursor, change colours or hide anything."""

import io

import pytest
from rich.table import Table

import bisimulator
from bisimulator._text import printable
from bisimulator.evaluation.certify import certify
from bisimulator.exact.frontier import frontier
from bisimulator.report.certificates import print_certificate
from bisimulator.report.console import SafeConsole
from bisimulator.report.frontiers import print_frontier
from bisimulator.report.text import plain_table

HOSTILE = {
    "colour": ("\x1b[31mred\x1b[0m", "red"),
    "cursor": ("a\x1b[2Jb", "ab"),
    "title": ("a\x1b]0;title\x07b", "ab"),
    "link": ("\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text"),
    "unfinished": ("a\x1b]0;title", "a"),
    "control": ("a\x00\x07\x08\x7f\x9bb", "ab"),
    "bidirectional": ("a\u202eb\u2066", "ab"),
    "plain": ("US$ $x_{ é 中\n\t", "US$ $x_{ é 中\n\t"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_only_text_is_left(name):
    given, expected = HOSTILE[name]
    assert printable(given) == expected


def printed(*things, **options):
    file = io.StringIO()
    console = SafeConsole(file=file, width=200, force_terminal=True, color_system=None)
    console.print(*things, **options)
    return file.getvalue()


def test_a_console_prints_text_alone():
    table = plain_table("a\x1b[2Jtitle", ["h\x1b[5mead"], [])
    table.add_row("c\x1b]0;t\x07ell")
    nested = Table(box=None)
    nested.add_column("x")
    nested.add_row("\x1b[31mred")
    text = printed("\x1b[2Jhello", table, nested, markup=False)
    assert "\x1b[2J" not in text
    assert "\x07" not in text
    for word in ("hello", "atitle", "cell", "red"):
        assert word in "".join(text.split())  # a title may be wrapped


NAMES = ("US$ $x_{", "[/b]", "_hidden", "[red]\x1b[31m")


def test_groups_of_any_name_are_printed_as_they_are(capsys):
    env = bisimulator.make("lending", groups=4, population=20, horizon=20, group_names=NAMES)
    console = SafeConsole(width=500, color_system=None)
    certificate = certify(env, bisimulator.policies.accept_all())
    print_certificate(certificate, env, title="[/b]", console=console)
    print_frontier(frontier(env, levels=[0.5]), [], console)
    text = capsys.readouterr().out
    for name in ("US$ $x_{", "[/b]", "_hidden", "[red]"):
        assert name in text
    assert "\x1b" not in text
