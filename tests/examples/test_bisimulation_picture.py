"""The pictures of the concepts page can be drawn again, and its table is what the code computes."""

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
def seen(script):
    return script["look_at_all"]()


def test_it_draws_both_pictures(script, seen, tmp_path, capsys):
    script["draw"](seen, tmp_path / "images")
    shown = capsys.readouterr().out
    for name in ("distances", "bounds"):
        target = tmp_path / "images" / f"bisimulation_{name}.png"
        with Image.open(target) as picture:
            assert picture.width > 2 * picture.height
            assert len(picture.convert("RGB").getcolors(1 << 20)) > 10
        assert str(target) in shown


def test_the_concepts_page_has_its_numbers(script, seen):
    page = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8").splitlines()
    assert set(script["markdown_rows"](seen)) <= set(page)


def test_what_the_page_says_of_the_distances(script, seen):
    shown = {script["POLICIES"][s.name]: s for s in seen}
    initial = np.asarray(bisimulator.make("lending").params.initial, float)
    initial /= initial.sum(1, keepdims=True)
    for s in seen:  # the drawn distances are those that the certificate's bound is made of
        bound, _ = exact.optimal_transport(s.distance, *initial)
        assert bound == pytest.approx(s.now.bound, abs=1e-6)
    for levels in ((3, 3), (0, 0)):  # nobody's group is looked at: nothing between equal scores
        assert np.diag(shown[levels].distance) == pytest.approx(np.zeros(7), abs=1e-6)
    assert np.diag(shown[0, 3].distance).min() > 10
    assert shown[3, 3].distance[:3, :3] == pytest.approx(np.zeros((3, 3)), abs=1e-6)  # rejected for ever
    assert shown[3, 0].now.gap < shown[0, 0].now.gap < shown[0, 0].now.bound + 1e-6 < shown[3, 0].now.bound
    assert shown[0, 0].episode.gap > shown[3, 3].episode.gap
    assert shown[0, 0].loans.gap == pytest.approx(0)
