"""What drives an audit's verdict: the few numbers that the data do not tell, and whether anybody chose them."""

from __future__ import annotations

from typing import NamedTuple

from bisimulator.core import Env, PersonChain
from bisimulator.exact.chain import person_chain
from bisimulator.report.text import move_in_words


class Driver(NamedTuple):
    """One assumption: what it is about, its value, and where that comes from."""

    name: str
    value: str
    source: str
    is_default: bool  # nobody set it


def drivers(env: Env) -> list[Driver]:
    """How far a loan moves a score, what a default costs, and how often people apply; `env` has whole bins."""
    model = env.scenario.person_model
    assert model is not None
    chain = person_chain(env.with_omega(model.true_omega(env.params)))
    return [
        _driver(env, "How far a loan moves a score", *_moves_in_words(env, chain)),
        _driver(env, "What a default costs", _cost_in_words(chain), ("reward_repaid", "reward_default")),
        _driver(
            env,
            "How often people apply",
            f"{chain.horizon / chain.population:g} times each on average, whatever happened before",
            ("population", "horizon"),
        ),
    ]


def _moves_in_words(env: Env, chain: PersonChain) -> tuple[str, tuple[str, ...]]:
    """How far a loan moves a score, and by which settings."""
    if chain.shifts is None:
        return "at random, by a table that is the same for everybody", ("moves",)
    up, down = (move_in_words(env, move) for move in chain.shifts)
    return f"up by {up} if it is repaid, down by {down} after a default", ("score_up", "score_down")


def _driver(env: Env, name: str, value: str, settings: tuple[str, ...]) -> Driver:
    chosen = [setting for setting in settings if setting in env.settings]
    left = [setting for setting in settings if setting not in env.settings]
    if not left:
        return Driver(name, value, "set for this audit", False)
    defaults = f"{', '.join(left)}: default{'s' if len(left) > 1 else ''} of {env.name}"
    source = f"{', '.join(chosen)} set for this audit; {defaults}" if chosen else f"nobody set it: {defaults}"
    return Driver(name, value, source, not chosen)


def _cost_in_words(chain: PersonChain) -> str:
    gain, cost = chain.reward_repaid, -chain.reward_default
    if gain <= 0 or cost <= 0:
        return f"a repaid loan is worth {gain:g} and a default {-cost:g}"
    times = (
        "as much as a repaid loan earns"
        if cost == gain
        else f"{cost / gain:.3g} times what a repaid loan earns"
    )
    return f"{times}, so a single loan pays where more than {cost / (cost + gain):.0%} repay"
