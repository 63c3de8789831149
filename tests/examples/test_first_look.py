"""The README's picture can be drawn again."""

import runpy
from pathlib import Path

from PIL import Image

SCRIPT = Path(__file__).parents[2] / "examples" / "first_look.py"


def test_it_draws_a_picture(tmp_path, capsys):
    target = tmp_path / "images" / "look.png"
    runpy.run_path(str(SCRIPT))["main"](target)
    with Image.open(target) as picture:
        assert picture.width > 2 * picture.height
        assert len(picture.convert("RGB").getcolors(1 << 20)) > 10
    assert str(target) in capsys.readouterr().out
