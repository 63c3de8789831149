"""What the README and the pages show works, and agrees with the code."""

import ast
import contextlib
import csv
import dataclasses
import functools
import importlib
import inspect
import io
import re
import runpy
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

import bisimulator
from bisimulator import published, registry
from bisimulator.api.comparing import make_variants
from bisimulator.cli import app
from bisimulator.exact import chain
from bisimulator.goals import GoalConfig
from bisimulator.jobs.solver_defaults import default_solver
from bisimulator.policies import NoConfig
from bisimulator.report.tables import CSV_COLUMNS
from tests.matrix import some

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
IDS = [str(page.relative_to(ROOT)) for page in PAGES]
# Pages that show how something is used, so they must have code that runs.
TUTORIALS = [
    ROOT / "README.md",
    *(
        DOCS / f"{name}.md"
        for name in ("index", "concepts", "fairness", "gymnasium", "your-environment", "sb3")
    ),
    *(DOCS / f"{name}.md" for name in ("population", "audit", "jobs", "report")),
    *sorted(
        page for folder in ("envs", "methods", "metrics", "exact") for page in (DOCS / folder).glob("*.md")
    ),
]
NO_CODE = {DOCS / "methods" / "dqn.md"}  # used as PPO is, whose page it links


def blocks(page, language):
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


def relative(pages):
    return [str(page.relative_to(ROOT)) for page in pages]


WITH_PYTHON = sorted({page for page in PAGES if blocks(page, "python")} | set(TUTORIALS) - NO_CODE)


# pages whose examples take longest; the README, shorter pages of the same kind, and the tests of goals, rules, jobs,
# exact tools, adapters and audits run the same calls
LONG = {
    DOCS / f"{name}.md"
    for name in (
        *("index", "goals", "sb3", "audit", "report", "jobs", "your-environment", "gymnasium"),
        *(
            f"methods/{name}"
            for name in ("ppo", "bisimulator", "classifier", "juries", "reject-all", "max-util")
        ),
        *("envs/lending", "envs/infectious", "envs/college_threshold"),
        *("exact/certificate", "metrics/approval-rate"),
    )
}


@pytest.mark.parametrize("page", some(WITH_PYTHON, set(WITH_PYTHON) - LONG), ids=relative(WITH_PYTHON))
def test_python_blocks_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, executed, printed = {"__name__": "page"}, 0, ""
    for language, block in re.findall(
        r"^```(python|text)\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    ):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(block, str(page), "exec"), names)
            executed, printed = executed + 1, output.getvalue()
        else:
            assert block == printed, "a text block shows what the Python block above it prints"
    assert executed > 0, "this page should have Python blocks"


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_block_is_in_a_language_that_is_tested(page):
    fences = re.findall(r"^ *(`{3,}.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(fences[::2]) <= {"```python", "```sh", "```csv", "```json", "```text", "```toml"}
    assert set(fences[1::2]) <= {"```"}


@pytest.fixture(scope="module")
def parses():
    """`app.main` with every command replaced by one that only checks the names in its arguments."""

    def only_parsed(command, sweep=None, solver_sweep=None):
        @functools.wraps(command)
        def look(**options):
            known = dict.fromkeys(("methods", "policies", "name"), registry.names("method"))
            for option, names in {**known, "scenario": registry.names("environment")}.items():
                given = options.get(option) or ()
                assert set(given.split(",") if isinstance(given, str) else given) <= set(names)
            if sweep or solver_sweep:
                make_variants(
                    options["scenario"], options["methods"].split(","), sweep or {}, solver_sweep or {}
                )

        return look

    make_train, make_compare = app.make_train, app.make_compare
    with pytest.MonkeyPatch.context() as patch:
        for name, command in app.COMMANDS.items():
            patch.setitem(app.COMMANDS, name, only_parsed(command))
        parsed_train = functools.cache(lambda method: only_parsed(make_train(method)))
        patch.setattr(app, "make_train", lambda method, typed=(): parsed_train(method))
        patch.setattr(app, "make_compare", lambda *sweeps: only_parsed(make_compare(*sweeps), *sweeps))
        yield lambda arguments: app.main(arguments) == 0


SHELL = [(page, block) for page in PAGES for block in blocks(page, "sh")]
TARGETS = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize(("page", "block"), SHELL, ids=relative(page for page, _ in SHELL))
def test_shell_blocks_name_what_exists(page, block, parses):
    for line in block.replace("\\\n", " ").splitlines():
        program, *arguments = shlex.split(line, comments=True) or ["pip"]
        if program == "bisimulator":
            assert parses(arguments), line
        elif program == "make":
            assert set(arguments) <= set(TARGETS), line
        elif program == "python":
            assert arguments[0].startswith("-") or (ROOT / arguments[0]).exists(), line
        else:
            assert program == "pip", f"{line}: unknown program {program}"


def test_shell_blocks_are_rejected_if_a_name_does_not_exist(parses):
    assert parses(["compare", "lending", "--methods", "ppo-bisimulator", "--method.kappa", "0", "0.1"])
    with pytest.raises(SystemExit):
        parses(["compare", "lending", "--no-such-option", "1"])
    assert not parses(["compare", "lending", "--methods", "ppo-bisimulator", "--method.kapa", "0", "0.1"])


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_the_readmes_table_is_what_the_code_computes():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = (("`accept-all`", 0, "PPO + Bisimulator"), ("accept from score 3 on", 3, "Max-util"))
    for title, first, method in rows:
        policy = np.tile(np.arange(7) >= first, (2, 1)).astype(float)
        exact = chain.expect(bisimulator.make("lending"), policy)
        recalls = " / ".join(f"{recall:.2f}" for recall in exact.recall)
        ours = f"| {exact.average_return:.1f} | {exact.credit_gap:.2f} | {recalls} |"
        row = {metric: value.mean for metric, value in published.row("lending", method).items()}
        theirs = f"{row['average_return']}, {row['credit_gap']}, {row['recall_g1']} / {row['recall_g2']}"
        assert f"| {title} {ours} {method}: {theirs} |" in readme


def test_the_readme_links_every_metric():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"docs/metrics/{name}.md" in readme for name in registry.names("metric"))


def test_every_method_has_a_page_that_the_readme_links():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    described = "".join(page.read_text(encoding="utf-8") for page in METHOD_PAGES)
    assert all(f"`{name}`" in described for name in registry.names("method"))
    assert all(f"docs/methods/{page.name}" in readme for page in METHOD_PAGES)


TEXT = {".md", ".py", ".cff", ".toml", ".yml", ".yaml", ".csv", ".tex", ".html", ".js", ".txt"}


def test_nothing_claims_a_venue_for_the_paper():
    folders = ("src", "docs", "tests", "examples", "benchmarks")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*")] + list(ROOT.glob("*.*"))
    read = [path for path in files if path.suffix in TEXT and path.is_file()]
    assert len(read) > 100
    claims = "IC" + "LR", "Conference on " + "Learning Representations"
    found = [path for path in read if any(claim in path.read_text(encoding="utf-8") for claim in claims)]
    assert relative(found) == []


# The site


@pytest.fixture(scope="module")
def site():
    return runpy.run_path(str(DOCS / "tools" / "site_hooks.py"))


def test_the_site_has_a_place_for_every_page(site):
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {str(page.relative_to(DOCS)) for page in PAGES if page.is_relative_to(DOCS)}
    pages -= {page for page in pages if page.startswith("results/tables/")}  # the page of results links them
    outside = {place for place in site["OUTSIDE"] if place.endswith(".md")}
    assert set(re.findall(r"[\w/-]+\.md", config)) == pages | outside
    assert all((ROOT / source).exists() for source in site["OUTSIDE"].values())


def test_the_site_carries_its_scripts_styles_and_fonts():
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    scripts = re.findall(r"assets/[\w./-]+", config)
    assert {"assets/katex/katex.min.js", "assets/formulas.js", "assets/iframe-worker/shim.js"} <= set(scripts)
    assert all((DOCS / script).is_file() for script in scripts)
    styles = (DOCS / "assets" / "katex" / "katex.min.css").read_text(encoding="utf-8")
    fonts = set(re.findall(r"fonts/[\w-]+\.woff2", styles))
    assert fonts == {f"fonts/{font.name}" for font in (DOCS / "assets" / "katex" / "fonts").iterdir()}


def test_every_figure_is_stored_once_and_used():
    figures = [path for kind in ("png", "svg") for path in DOCS.rglob(f"*.{kind}")]
    stems = [figure.stem for figure in figures]
    assert len(stems) == len(set(stems)) > 0
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [figure.name for figure in figures if figure.name not in pages] == []


# The API reference


def test_every_public_name_has_an_api_entry(site):
    assert site["missing_api_entries"]() == []


@pytest.mark.parametrize(
    ("page", "directive", "missing"),
    [
        ("policies.md", "::: bisimulator.policies.thresholds", "bisimulator.policies.thresholds"),
        ("bisim.md", "::: bisimulator.bisim.reward", "bisimulator.bisim.reward"),
        ("bisimulator.md", "::: bisimulator", "bisimulator.evaluate"),
    ],
)
def test_a_public_name_without_an_api_entry_is_reported(site, tmp_path, page, directive, missing):
    pages = shutil.copytree(DOCS / "api", tmp_path / "api")
    text = (pages / page).read_text(encoding="utf-8")
    (pages / page).write_text(re.sub(rf"^{re.escape(directive)}$", "", text, flags=re.MULTILINE))
    assert missing in site["missing_api_entries"](pages)


def test_every_api_entry_exists_and_is_documented(site):
    entries = site["api_entries"]()
    assert len(entries) > 100
    for entry in sorted(entries):
        value = resolve(entry)
        if inspect.ismodule(value) or inspect.isclass(value) or inspect.isroutine(value):
            assert inspect.getdoc(value), f"{entry} has no docstring"


def resolve(name):
    """The module or object with this name; a function wins over a module of the same name."""
    module, _, attribute = name.rpartition(".")
    try:
        parent = importlib.import_module(module)
    except ModuleNotFoundError:
        parent = resolve(module)
    return getattr(parent, attribute) if hasattr(parent, attribute) else importlib.import_module(name)


# The pages of the methods


@pytest.fixture(scope="module")
def fill():
    return runpy.run_path(str(DOCS / "tools" / "fill_results.py"))


METHOD_PAGES = sorted((DOCS / "methods").glob("*.md"))
FILLED_PAGES = [*METHOD_PAGES, *sorted((DOCS / "results").glob("*.md"))]


@pytest.mark.parametrize("page", FILLED_PAGES, ids=[page.stem for page in FILLED_PAGES])
def test_pages_say_what_the_tables_say(page, fill):
    text = page.read_text(encoding="utf-8")
    assert text == fill["filled"](text), "run: python docs/tools/fill_results.py"


# method -> its page, and the column of the page's table of options with its defaults
OPTIONS = {
    name: (DOCS / "methods" / f"{name}.md", "here")
    for name in registry.names("method")
    if "bisimulator" not in name and not isinstance(registry.lookup("method", name).config, NoConfig)
} | {
    **{
        name: (DOCS / "methods" / "juries.md", f"`{name}`")
        for name in registry.names("method")
        if name.endswith("-jury")
    },
    "ppo-bisimulator": (DOCS / "methods" / "bisimulator.md", "PPO"),
    "dqn-bisimulator": (DOCS / "methods" / "bisimulator.md", "DQN"),
}


@pytest.mark.parametrize(("method", "place"), OPTIONS.items(), ids=OPTIONS)
def test_method_pages_say_what_the_defaults_are(method, place):
    documented = option_table(*place)
    config = dataclasses.asdict(registry.lookup("method", method).config)
    assert documented.keys() == config.keys()
    for option, value in config.items():
        assert documented[option] == value, option


def test_the_page_of_goals_says_what_the_defaults_of_control_are():
    assert option_table(DOCS / "goals.md", "default") == dataclasses.asdict(GoalConfig())


def test_the_page_of_goals_says_what_the_defaults_of_solvers_are():
    head, _, *rows = solver_table((DOCS / "goals.md").read_text(encoding="utf-8").splitlines())
    columns = {
        "PPO, queue view": ("ppo", "queue", False),
        "PPO, life view": ("ppo", "life", False),
        "PPO with a goal": ("ppo", "life", True),
        "DQN, life view": ("dqn", "life", False),
        "DQN with a goal": ("dqn", "life", True),
    }
    assert head[1:] == list(columns)
    documented = {row[0].strip("`"): dict(zip(columns, row[1:], strict=True)) for row in rows}
    for title, (solver, view, with_goal) in columns.items():
        defaults = dataclasses.asdict(default_solver(solver, view, with_goal=with_goal))
        plain = dataclasses.asdict(default_solver(solver, "queue", with_goal=False))
        assert {name for name, value in defaults.items() if value != plain[name]} <= documented.keys()
        for name, cells in documented.items():
            assert cells[title] == "" or parse_value(cells[title]) == defaults[name], (name, title)


def solver_table(lines):
    first = next(i for i, line in enumerate(lines) if line.startswith("| | PPO, queue view |"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table(lines[first:])]


def test_the_reward_only_variants_differ_by_one_option():
    for solver in ("ppo", "dqn"):
        full = registry.lookup("method", f"{solver}-bisimulator").config
        reward_only = registry.lookup("method", f"{solver}-bisimulator-reward").config
        assert reward_only == dataclasses.replace(full, dynamics_steps=0)


def option_table(page, column):
    """option -> value in a column of the table whose first column is called "option"."""
    lines = page.read_text(encoding="utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("| option |"))
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table(lines[first:]))
    cells = {row[0].strip("`"): row[head.index(column)] for row in rows if "`" in row[0]}
    return {option: parse_value(cell) for option, cell in cells.items() if cell != "-"}  # "-": of others only


def table(lines):
    return lines[: next((i for i, line in enumerate(lines) if not line.startswith("|")), len(lines))]


def parse_value(cell):
    """The first thing in a cell: what stands in backquotes, otherwise the first word."""
    quoted = re.match(r"`([^`]*)`", cell)
    text = quoted[1] if quoted else cell.split()[0].strip(",:;")
    if re.fullmatch(r"\d{1,3}(,\d{3})+", text):
        return int(text.replace(",", ""))
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


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

    (tmp_path / "baselines").mkdir()
    row = ["lending", "R-PPO", "r-ppo", "recall_gap", "lower", 0.5, 0.1, "", "", "", ""]
    with (tmp_path / "baselines" / "lending.csv").open("w", newline="") as file:
        csv.writer(file).writerows([CSV_COLUMNS, row])
    baseline = fill["filled"]("<!-- results:begin r-ppo -->\n<!-- results:end -->", tmp_path)
    assert f"{ppo}\n| R-PPO | here | 0.50 ± 0.10 |\n\n<!-- results:end -->" in baseline

    (tmp_path / "lending.md").write_text("# lending\n\nA table.\n\n| a |\n\n## Next to the paper\n\n| b |\n")
    copied = fill["filled"]("<!-- table:begin lending -->\nold\n<!-- table:end -->", tmp_path)
    assert copied == "<!-- table:begin lending -->\n\nA table.\n\n| a |\n\n<!-- table:end -->"

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
