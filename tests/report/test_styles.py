"""One style per method: readable on paper and on a dark screen, distinct for colour-blind readers too."""

from itertools import combinations

import numpy as np
import pytest

from bisimulator import registry
from bisimulator.report._styles import STYLES, contrast, group_colours, readable, style
from bisimulator.report._table_columns import published_name

PAPER, DARK = "#FFFFFF", "#14171A"

# Machado, Oliveira and Fernandes (2009), full severity, on linear RGB
BLINDNESS = {
    "none": np.eye(3),
    "protan": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deutan": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritan": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


def lab(colour, blindness):
    """CIE Lab of the colour as somebody with that blindness sees it."""
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.asarray(BLINDNESS[blindness]) @ linear, 0, 1)
    to_xyz = [[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]]
    xyz = np.asarray(to_xyz) @ seen / np.array([0.9505, 1.0, 1.0888])
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("blindness", BLINDNESS)
@pytest.mark.parametrize(("theme", "min_distance"), [("colour", 10), ("on_dark", 6)])
def test_two_methods_with_the_same_line_have_different_colours_for_everybody(blindness, theme, min_distance):
    """2 is a difference that is just seen."""
    for one, other in combinations(STYLES.values(), 2):
        if one.dash == other.dash:
            distance = np.linalg.norm(
                lab(getattr(one, theme), blindness) - lab(getattr(other, theme), blindness)
            )
            assert distance > min_distance, (one, other)


def test_no_two_methods_look_alike_in_grey():
    looks = [(look.dash, look.marker) for look in STYLES.values()]
    assert len(set(looks)) == len(looks)


def test_lines_can_be_seen_on_paper_and_on_a_dark_screen():
    for name, look in STYLES.items():
        assert contrast(look.colour, PAPER) >= 3, name
        assert contrast(look.on_dark, DARK) >= 3, name


def test_text_can_be_read():
    for look in STYLES.values():
        assert contrast(readable(look.colour), PAPER) >= 4.5
    assert readable("#000000") == "#000000"


def test_contrast_is_that_of_web_pages():
    assert contrast("#FFFFFF", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)
    assert contrast("#336699", "#336699") == 1


def test_every_registered_method_of_the_paper_has_a_style_of_its_own():
    for name in registry.names("method"):
        if published_name(name):
            assert style(name, published_name(name)) is STYLES[published_name(name)]


def test_another_method_looks_the_same_each_time():
    assert style("somebodys-own") == style("somebodys-own")
    assert len({style(f"method-{i}") for i in range(30)}) > 10


def test_groups_go_from_one_colour_to_the_other():
    two, ten = group_colours(2), group_colours(10)
    assert (ten[0], ten[-1]) == (two[0], two[1])
    assert len(set(ten)) == 10
    assert group_colours(1) == [two[0]]
