"""The audit's page in a real browser: as wide as a desktop screen and as a phone, light, dark and on paper."""

import io
import re

import numpy as np
import pytest

from tests.report.browser import HOW_TO_GET, LOADED, find_browser

pytestmark = pytest.mark.skipif(find_browser() is None, reason=HOW_TO_GET)


@pytest.fixture(scope="module")
def path(page, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "audit.html"
    path.write_text(page, encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "dark", "in_a_row"), [(1280, False, 3), (390, False, 1), (1280, True, 3)])
def test_nothing_sticks_out_and_charts_wrap(browser, path, width, dark, in_a_row):
    from PIL import Image

    browser.open(path, width=width, dark=dark, ready=LOADED)
    assert browser.problems == []
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    tops = browser.run(
        "[...document.querySelector('.charts').querySelectorAll('svg')].map(e => e.getBoundingClientRect().top)"
    )
    assert [tops.count(top) for top in dict.fromkeys(tops)] == [in_a_row] * (3 // in_a_row)
    smallest = browser.run(
        "Math.min(...[...document.querySelectorAll('.charts text, .single text')]"
        ".map(e => e.getBoundingClientRect().height))"
    )
    assert smallest >= 9  # pixels
    with Image.open(io.BytesIO(browser.screenshot())) as picture:
        assert (np.median(np.asarray(picture.convert("L"))) < 50) == dark


def test_tables_stack_on_a_phone(browser, path):
    browser.open(path, width=390, ready=LOADED)
    assert browser.run(
        "[...document.querySelectorAll('.stack')].every(e => e.scrollWidth <= e.parentElement.clientWidth)"
    )
    assert browser.run("getComputedStyle(document.querySelector('.stack thead')).display") == "none"


def test_it_prints_on_few_pages_and_light_even_in_the_dark(browser, path):
    browser.open(path, dark=True, ready=LOADED)
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", browser.pdf())) <= 4
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
