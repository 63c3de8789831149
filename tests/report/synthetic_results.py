"""Synthetic results, as a job would store them, in milliseconds: nothing is trained or simulated."""

import dataclasses
from contextlib import contextmanager

import numpy as np

from bisimulator import files, registry
from bisimulator.core import COUNTS, SCORE_GRID, Outcome
from bisimulator.jobs.learning_curves import Curves
from bisimulator.jobs.references import Reference
from bisimulator.jobs.spec import make_spec
from bisimulator.jobs.store import Result, save
from bisimulator.methods.hooks import LearnedMethod

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=2>\"'&"
SCORES = {"college": 10}  # lending has 7
REFERENCE = Reference(
    accept_all={"average_return": (800.0, 0.0), "recall_gap": (0.0, 0.0), "credit_gap": (1.0, 0.0)},
    frontiers={"recall_gap": (np.array([0.0, 0.5]), np.array([900.0, 1200.0]))},
    left_out={"credit_gap": "it takes minutes"},
)


def synthetic_result(
    scenario="lending",
    method="ppo",
    *,
    recalls=(0.9, 0.4),
    income=1000.0,
    seeds=3,
    points=4,
    noise=0.02,
    settings=None,
    **options,
):
    """A job whose groups have about these recalls and whose episodes return about `income`."""
    spec = make_spec(scenario, method, seeds=seeds, episodes=2, settings=settings or {}, **options)
    rng = np.random.default_rng(len(scenario) + 31 * len(method))
    groups, scores = len(recalls), SCORES.get(scenario, 7)
    shape = (len(spec.seeds), spec.episodes, groups)
    counts = np.zeros((*shape, len(COUNTS)))
    counts[..., COUNTS.index("applied")] = 100
    counts[..., COUNTS.index("qualified")] = 50
    shares = np.clip(np.asarray(recalls) + noise * rng.normal(size=shape), 0, 1)
    counts[..., COUNTS.index("approved_qualified")] = 50 * shares
    counts[..., COUNTS.index("approved")] = 80 * shares
    counts[..., COUNTS.index("reward")] = income / groups * (1 + noise * rng.normal(size=shape))
    counts[..., COUNTS.index("burden")] = 15 * (1 + 0.1 * np.arange(groups))
    counts[..., COUNTS.index("burdened")] = 10
    true = rng.uniform(5, 10, (*shape, scores))
    observed = np.zeros((*shape, (scores - 1) * SCORE_GRID + 1))
    observed[..., ::SCORE_GRID] = true[..., ::-1]
    times = np.linspace(0.1, 1, 10)[:, None]
    approvals = times * counts[..., None, :, COUNTS.index("approved")]
    result = Result(spec, Outcome(counts, true, observed, approvals), _learned(spec, groups, rng))
    if not spec.steps:
        return result
    return Result(spec, result.outcome, result.learned, _curves(result, points, rng), 12.5)


def store(result, out):
    """Write a result as its job would."""
    folder = out / result.spec.name
    files.write_json(folder / "config.json", result.spec.to_dict())
    save(result, folder)


def with_counts(result, name, values):
    """The same result with other counts; `values` has, or broadcasts to, the shape (seeds, episodes, groups)."""
    counts = np.array(result.outcome.counts)
    counts[..., COUNTS.index(name)] = values
    return dataclasses.replace(result, outcome=dataclasses.replace(result.outcome, counts=counts))


def by_chance():
    """Two results whose recall gaps differ, 0.5 ± 5.08 against 0.2 ± 0.0, but not significantly."""
    per_seed = {"ppo": [(1.0, 0.1), (0.6, 0.5)], "dqn": [(0.8, 0.6), (0.8, 0.6)]}
    return [
        with_counts(
            synthetic_result(method=method, seeds=2, noise=0.0),
            "approved_qualified",
            50 * np.array(recalls)[:, None, :],
        )
        for method, recalls in per_seed.items()
    ]


def _learned(spec, groups, rng):
    if "bisimulator" not in spec.method:
        return {}
    omega = len(spec.make_env().scenario.omega_names)
    return {"omega": rng.uniform(0, 2, (len(spec.seeds), groups, omega))}


def _curves(result, points, rng):
    """From half of the final value to it."""
    steps = np.linspace(0, result.spec.steps, points + 1)[1:].astype(int)
    rise = np.linspace(0.5, 1, points)[:, None]
    ends = {name: values.mean(1) for name, values in result.columns.items()}
    return Curves(
        steps, {name: rise * end * rng.uniform(0.99, 1.01, rise.shape) for name, end in ends.items()}
    )


def several_results():
    """Two scenarios, with two groups and with ten: trained methods and a rule."""
    many = np.linspace(0.95, 0.3, 10)
    return [
        synthetic_result("lending", "ppo"),
        synthetic_result("lending", "dqn", recalls=(0.92, 0.38)),
        synthetic_result("lending", "ppo-bisimulator", recalls=(1.0, 1.0), income=950.0),
        synthetic_result("lending", "ppo-bisimulator-reward", recalls=(1.0, 1.0), income=960.0),
        synthetic_result("lending", "accept-all", recalls=(1.0, 1.0), income=955.0),
        synthetic_result("lending-10-groups", "ppo", recalls=many),
        synthetic_result("lending-10-groups", "ppo-bisimulator", recalls=np.ones(10), income=950.0),
    ]


@contextmanager
def hostile_method():
    """While it is registered, a method has the name that an attacker would choose."""
    registry.register("method", HOSTILE, LearnedMethod(summary="", published="", solver="ppo"))
    try:
        yield HOSTILE
    finally:
        registry.unregister("method", HOSTILE)
