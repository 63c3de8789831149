"""The pictures of the concepts page can be drawn, and its table is what the code computes."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import bisimulator
from bisimulator import exact

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(ROOT / "examples" / "bisimulation_picture.py"))


@pytest.fixture(scope="module")
def policies(script):
    return script["compute_all"]()


def test_it_draws_both_pictures(script, policies, tmp_path, capsys):
    script["draw"](policies, tmp_path / "images")
    shown = capsys.readouterr().out
    for name in ("distances", "bounds"):
        target = tmp_path / "images" / f"bisimulation_{name}.png"
        with Image.open(target) as picture:
            assert picture.width > 2 * picture.height
            assert len(picture.convert("RGB").getcolors(1 << 20)) > 10
        assert str(target) in shown


def test_the_concepts_page_has_its_numbers(script, policies):
    page = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8").splitlines()
    assert set(script["markdown_rows"](policies)) <= set(page)


def test_what_the_page_says_about_the_distances(script, policies):
    shown = {script["POLICIES"][s.name]: s for s in policies}
    initial = np.asarray(bisimulator.make("lending").params.initial, float)
    initial /= initial.sum(1, keepdims=True)
    for s in policies:  # the certificate's bound is computed from the drawn distances
        bound, _ = exact.optimal_transport(s.distance, *initial)
        assert bound == pytest.approx(s.discounted.bound, abs=1e-6)
    for levels in ((3, 3), (0, 0)):  # the policy ignores groups: equal scores have equal futures
        assert np.diag(shown[levels].distance) == pytest.approx(np.zeros(7), abs=1e-6)
    assert np.diag(shown[0, 3].distance).min() > 10
    assert shown[3, 3].distance[:3, :3] == pytest.approx(np.zeros((3, 3)), abs=1e-6)  # rejected for ever
    assert (
        shown[3, 0].discounted.gap
        < shown[0, 0].discounted.gap
        < shown[0, 0].discounted.bound + 1e-6
        < shown[3, 0].discounted.bound
    )
    assert shown[0, 0].episode.gap > shown[3, 3].episode.gap
    assert shown[0, 0].loans.gap == pytest.approx(0)
