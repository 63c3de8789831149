"""One style per method, the same in every figure and on the page: colour, line and marker.

The colours are those of Okabe and Ito, extended by Paul Tol's, which colour-blind readers can distinguish, and darker
where they would be too pale on paper. Two methods of one hue also differ in line and marker, so that they remain
distinct in a greyscale print. Styles are looked up by a method's name in the paper, or by its registered name.
"""

from __future__ import annotations

import dataclasses
import hashlib

SOLID, DASHED, DOTTED, DASH_DOT = (), (5.0, 2.0), (1.2, 1.6), (6.0, 2.0, 1.2, 2.0)


@dataclasses.dataclass(frozen=True)
class Style:
    """How a method is drawn."""

    colour: str  # on white
    on_dark: str  # on a dark screen
    dash: tuple[float, ...]  # lengths of lines and gaps, in line widths; () is solid
    marker: str  # as matplotlib names it; the page draws the same shapes


STYLES = {
    "PPO + Bisimulator": Style("#0072B2", "#4FB0F0", SOLID, "o"),
    "PPO + Bisimulator (Reward only)": Style("#3A93D0", "#9AD4F5", DASHED, "h"),
    "DQN + Bisimulator": Style("#007D5B", "#2FC79B", SOLID, "s"),
    "DQN + Bisimulator (Reward only)": Style("#2E9E79", "#9FE3C8", DASHED, "D"),
    "ELBERT-PO": Style("#C4629A", "#F09CCB", SOLID, "^"),
    "Lag-PPO": Style("#B87A00", "#F0B429", DASH_DOT, "v"),
    "A-PPO": Style("#D55E00", "#FF8A3D", DASHED, "<"),
    "r-ppo": Style("#8C510A", "#D09A5B", DASH_DOT, ">"),  # the paper has no row of it
    "PPO": Style("#1F1F1F", "#F2F2F2", SOLID, "X"),
    "DQN": Style("#707070", "#B4B4B4", DASHED, "P"),
    "Max-util": Style("#7F7F1F", "#CFCF63", DOTTED, "p"),
    "EO": Style("#882255", "#DE7FB0", DOTTED, "d"),
    "Classifier": Style("#332288", "#A396F5", DOTTED, "*"),
    "accept-all": Style("#117733", "#5FD08A", DOTTED, "8"),
    "reject-all": Style("#9440C8", "#FFC9E8", DOTTED, "H"),
    "threshold": Style("#5F5F9F", "#B3B3F2", DOTTED, "o"),
}
_OTHERS = (
    ("#661100", "#E08A75"),
    ("#2F7F86", "#7FD6DE"),
    ("#7A4FBF", "#C3A6F7"),
    ("#A34A5E", "#F09BAD"),
    ("#4D6B00", "#B5D96A"),
    ("#3B5B92", "#93B4EE"),
)
_LINES = (SOLID, DASHED, DASH_DOT)
GROUPS = ("#0072B2", "#D55E00")  # the first and the last group; those between are blended
GROUPS_ON_DARK = ("#4FB0F0", "#FF8A3D")


def style(method: str, published_name: str = "") -> Style:
    """The style of a method; one that is not listed gets a style from its name, the same in every report."""
    for name in (published_name, method):
        if name in STYLES:
            return STYLES[name]
    number = int(hashlib.sha256(method.encode()).hexdigest(), 16)
    colour, on_dark = _OTHERS[number % len(_OTHERS)]
    number //= len(_OTHERS)
    return Style(colour, on_dark, _LINES[number % len(_LINES)], "ospd*"[number // len(_LINES) % 5])


def group_colours(groups: int, *, dark: bool = False) -> list[str]:
    """From the first group's colour to the last one's."""
    first, last = (_channels(colour) for colour in (GROUPS_ON_DARK if dark else GROUPS))
    shares = [g / max(groups - 1, 1) for g in range(groups)]
    return [_hex(tuple((1 - s) * a + s * b for a, b in zip(first, last, strict=True))) for s in shares]


def contrast(one: str, other: str) -> float:
    """The WCAG contrast ratio of two colours: 1 if they are equal, 21 for black and white; text needs 4.5."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def readable(colour: str, background: str = "#FFFFFF", min_contrast: float = 4.5) -> str:
    """The colour, darkened until text in it can be read on a light background."""
    while contrast(colour, background) < min_contrast:
        colour = _hex(tuple(0.93 * channel for channel in _channels(colour)))
    return colour


def _channels(colour: str) -> tuple[float, ...]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def _hex(channels: tuple[float, ...]) -> str:
    return "#" + "".join(f"{round(channel):02X}" for channel in channels)


def _luminance(colour: str) -> float:
    shares = [channel / 255 for channel in _channels(colour)]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
