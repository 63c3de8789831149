"""What the README and the pages show works, and says what the code says."""

import re
from pathlib import Path

import numpy as np
import pytest

import bisimulator
from bisimulator import published, registry
from bisimulator.exact import chain

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
IDS = [str(page.relative_to(ROOT)) for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_python_blocks_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for block in re.findall(
        r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    ):
        exec(compile(block, str(page), "exec"), names)


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
    assert all(f"docs/metrics/{name}.md" in readme for name in registry.METRICS)


def test_every_method_has_a_page_that_the_readme_links():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = sorted((ROOT / "docs" / "methods").glob("*.md"))
    described = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert all(f"`{name}`" in described for name in registry.METHODS)
    assert all(f"docs/methods/{page.name}" in readme for page in pages)


def test_version_is_the_same_everywhere():
    for name, line in (("pyproject.toml", 'version = "{}"'), ("CITATION.cff", "version: {}")):
        assert line.format(bisimulator.__version__) in (ROOT / name).read_text(encoding="utf-8").splitlines()
