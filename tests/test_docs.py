"""What the README and the pages show works, and says what the code says."""

import csv
import dataclasses
import functools
import re
import runpy
import shlex
from pathlib import Path

import numpy as np
import pytest

import bisimulator
from bisimulator import cli, published, registry
from bisimulator.exact import chain
from bisimulator.report.tables import CSV_COLUMNS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
IDS = [str(page.relative_to(ROOT)) for page in PAGES]


def blocks(page, language):
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_python_blocks_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)


@pytest.fixture(scope="module")
def understood():
    """`cli.main` with every command replaced by one that only looks at the names it is given."""

    def only_parsed(command):
        @functools.wraps(command)
        def look(**options):
            known = dict.fromkeys(("methods", "policies", "name"), registry.names("method"))
            for option, names in {**known, "scenario": registry.names("environment")}.items():
                given = options.get(option) or ()
                assert set(given.split(",") if isinstance(given, str) else given) <= set(names)

        return look

    make_train = cli.make_train
    with pytest.MonkeyPatch.context() as patch:
        for name, command in cli.COMMANDS.items():
            patch.setitem(cli.COMMANDS, name, only_parsed(command))
        patch.setattr(cli, "make_train", functools.cache(lambda method: only_parsed(make_train(method))))
        yield lambda arguments: cli.main(arguments) == 0


SHELL = [(page, block) for page in PAGES for block in blocks(page, "sh")]


@pytest.mark.parametrize(("page", "block"), SHELL, ids=[str(page.relative_to(ROOT)) for page, _ in SHELL])
def test_shell_blocks_name_what_exists(page, block, understood):
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for line in block.replace("\\\n", " ").splitlines():
        program, *arguments = shlex.split(line, comments=True) or ["pip"]
        if program == "bisimulator":
            assert understood(arguments), line
        elif program == "make":
            assert set(arguments) <= set(targets), line
        elif program == "python":
            assert arguments[0].startswith("-") or (ROOT / arguments[0]).exists(), line
        else:
            assert program == "pip", f"{line}: what is {program}?"


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_the_readmes_table_is_what_the_code_computes():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for title, first, method in (("everybody", 0, "PPO + Bisimulator"), ("from score 3 on", 3, "Max-util")):
        policy = np.tile(np.arange(7) >= first, (2, 1)).astype(float)
        exact = chain.expect(bisimulator.make("lending"), policy)
        recalls = " / ".join(f"{recall:.2f}" for recall in exact.recall)
        ours = f"| {exact.average_return:.1f} | {exact.credit_gap:.2f} | {recalls} |"
        row = {metric: value.mean for metric, value in published.row("lending", method).items()}
        theirs = f"{row['average_return']}, {row['credit_gap']}, {row['recall_g1']} / {row['recall_g2']}"
        assert f"| accept {title} {ours} {method}: {theirs} |" in readme


def test_the_readme_links_every_metric():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"docs/metrics/{name}.md" in readme for name in registry.names("metric"))


def test_every_method_has_a_page_that_the_readme_links():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = sorted((ROOT / "docs" / "methods").glob("*.md"))
    described = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert all(f"`{name}`" in described for name in registry.names("method"))
    assert all(f"docs/methods/{page.name}" in readme for page in pages)


def test_the_site_has_a_place_for_every_page():
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    outside = runpy.run_path(str(ROOT / "docs" / "tools" / "site_hooks.py"))["OUTSIDE"]
    pages = {str(page.relative_to(ROOT / "docs")) for page in PAGES if page.is_relative_to(ROOT / "docs")}
    pages -= {page for page in pages if page.startswith("results/tables/")}  # the page of results leads there
    assert set(re.findall(r"[\w/-]+\.md", site)) == pages | {
        place for place in outside if place.endswith(".md")
    }
    assert all((ROOT / source).exists() for source in outside.values())


@pytest.fixture(scope="module")
def fill():
    return runpy.run_path(str(ROOT / "docs" / "tools" / "fill_results.py"))


METHOD_PAGES = sorted((ROOT / "docs" / "methods").glob("*.md"))


@pytest.mark.parametrize("page", METHOD_PAGES, ids=[page.stem for page in METHOD_PAGES])
def test_method_pages_say_what_the_tables_say(page, fill):
    text = page.read_text(encoding="utf-8")
    assert text == fill["filled"](text), "run: python docs/tools/fill_results.py"


@pytest.mark.parametrize("page", METHOD_PAGES, ids=[page.stem for page in METHOD_PAGES])
def test_method_pages_say_what_the_options_are_here(page):
    _, head, below = page.read_text(encoding="utf-8").partition(
        "| option | the authors | here | how chosen |\n"
    )
    if not head:
        pytest.skip("no options, or those of a whole family")
    lines = below.partition("\n\n")[0].splitlines()[1:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    told = {name.strip("`"): here.split()[0].strip("`,:;") for name, _, here, _ in cells if "`" in name}
    config = dataclasses.asdict(registry.lookup("method", page.stem).config)
    assert told.keys() == config.keys()
    for option, value in config.items():
        same = told[option] if isinstance(value, str) else float(told[option].replace(",", ""))
        assert same == value, option


def test_every_method_has_its_rows_on_a_page():
    text = "".join(page.read_text(encoding="utf-8") for page in METHOD_PAGES)
    named = [name for names in re.findall(r"<!-- results:begin (.*?) -->", text) for name in names.split()]
    assert sorted(named) == sorted(registry.names("method"))


def test_results_and_grids_are_filled_in(fill, tmp_path):
    rows = [
        ["lending", "PPO", "ppo", "recall_gap", "lower", 0.623, 0.05, 0.54, 0.06, 0.083, "missed"],
        ["lending", "Accept all", "accept-all", "recall_gap", "lower", 0.0, 0.0, "", "", "", ""],
    ]
    with (tmp_path / "lending.csv").open("w", newline="") as file:
        csv.writer(file).writerows([CSV_COLUMNS, *rows])
    text = "a\n<!-- results:begin ppo accept-all -->\nold\n<!-- results:end -->\nb <!-- results:end -->"
    ppo, paper = "| PPO | here | 0.62 ± 0.05 |", "|  | paper | 0.54 ± 0.06 |"
    new = fill["filled"](text, tmp_path)
    assert f"{ppo}\n{paper}\n| Accept all | here | 0.00 ± 0.00 |\n\n<!-- results:end -->\nb <!-- r" in new
    assert "old" not in new
    assert fill["filled"](new, tmp_path) == new

    tuning = tmp_path / "tuning.csv"
    tuning.write_text(
        'method,scenario,settings,recall_gap,credit_gap,passes\nelbert,lending,"{""a"": 2e4}",0.0597,,no\n'
    )
    tried = fill["filled"]("<!-- grid:begin elbert -->\n<!-- grid:end -->", tmp_path, tuning)
    assert "| 20000 | 0.06 | no |\n| paper | 0.02 ± 0.03 |  |" in tried
    assert "Nothing tried" in fill["filled"]("<!-- grid:begin r-ppo -->\n<!-- grid:end -->", tmp_path, tuning)


def test_version_is_the_same_everywhere():
    for name, line in (("pyproject.toml", 'version = "{}"'), ("CITATION.cff", "version: {}")):
        assert line.format(bisimulator.__version__) in (ROOT / name).read_text(encoding="utf-8").splitlines()
