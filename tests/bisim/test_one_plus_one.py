"""The (1+1) evolution strategy compared with that of nevergrad on standard functions, and its guarantees."""

import jax
import jax.numpy as jnp
import nevergrad as ng
import numpy as np
import pytest

from bisimulator.bisim.one_plus_one import one_plus_one

BUDGET, SEEDS = 300, 11
LOWER, UPPER, STEP = -5.0, 5.0, 0.15
START = np.array([3.0, -2.0, 4.0, -4.0], np.float32)


def sphere(x):
    return (x**2).sum()


def ellipsoid(x):
    return (np.array([1.0, 10.0, 100.0, 1000.0], np.float32) * x**2).sum()


def rosenbrock(x):
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def search(function, seed, *, start=START, iterations=BUDGET, lower=LOWER, upper=UPPER):
    return one_plus_one(
        jax.random.key(seed),
        lambda x, aux: (function(x), aux),
        jnp.asarray(start),
        (),
        iterations=iterations,
        lower=lower,
        upper=upper,
        step=STEP,
    )


def nevergrad_loss(function, seed):
    """The best loss of nevergrad with the same start, first step and number of evaluations."""
    space = ng.p.Array(init=START.astype(float)).set_mutation(sigma=STEP * (UPPER - LOWER))
    space.random_state = np.random.RandomState(seed)
    optimizer = ng.optimizers.OnePlusOne(parametrization=space, budget=BUDGET + 1)
    lowest = np.inf
    for _ in range(BUDGET + 1):
        candidate = optimizer.ask()
        loss = float(function(candidate.value))
        optimizer.tell(candidate, loss)
        lowest = min(lowest, loss)
    return lowest


@pytest.mark.parametrize("function", [sphere, ellipsoid, rosenbrock])
def test_it_converges_as_fast_as_nevergrad(function):
    ours = jax.jit(jax.vmap(lambda seed: search(function, seed).loss))(jnp.arange(SEEDS))
    theirs = [nevergrad_loss(function, seed) for seed in range(SEEDS)]
    start = float(function(START))
    assert np.median(ours) < start / 100
    # same order of magnitude: a factor of ten either way (a search without step control misses it by far)
    assert abs(np.log10(np.median(ours)) - np.log10(np.median(theirs))) < 1


def test_it_is_deterministic_and_depends_on_the_key():
    first, again, other = (search(sphere, seed, iterations=20) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.x, again.x)
    assert (np.asarray(first.x) != np.asarray(other.x)).any()


def test_points_stay_within_the_bounds_and_reach_a_minimum_on_the_bound():
    lower, upper = jnp.array([1.0, -5.0, 2.0, -1.0]), jnp.array([5.0, 5.0, 2.0, 0.0])
    start = jnp.array([3.0, -2.0, 2.0, -1.0])
    best = search(sphere, 0, start=start, lower=lower, upper=upper)
    assert (np.asarray(best.x) >= np.asarray(lower)).all()
    assert (np.asarray(best.x) <= np.asarray(upper)).all()
    assert best.x[2] == 2  # bounds of width 0 fix an entry
    np.testing.assert_allclose(best.x, [1, 0, 2, 0], atol=0.05)


def test_the_loss_never_increases_and_belongs_to_the_best_point():
    losses = [float(search(rosenbrock, 3, iterations=n).loss) for n in (1, 4, 16)]
    assert float(rosenbrock(START)) >= losses[0] >= losses[1] >= losses[2]
    best = search(rosenbrock, 3, iterations=16)
    assert float(best.loss) == pytest.approx(float(rosenbrock(np.asarray(best.x, float))), rel=1e-5)


def test_auxiliary_data_belong_to_the_best_point():
    """aux counts the accepted candidates' evaluations: the aux of a rejected candidate is discarded."""

    def loss(x, aux):
        return sphere(x), (aux[0] + 1, x)

    aux = (jnp.int32(0), jnp.asarray(START))
    best = one_plus_one(
        jax.random.key(0), loss, jnp.asarray(START), aux, iterations=50, lower=LOWER, upper=UPPER
    )
    np.testing.assert_array_equal(best.aux[1], best.x)
    assert 1 < int(best.aux[0]) < 51


def test_a_candidate_with_a_nan_loss_is_never_selected():
    def loss(x, aux):
        return jnp.where(x[0] > 0, sphere(x), jnp.nan), aux

    best = one_plus_one(
        jax.random.key(0), loss, jnp.asarray(START), (), iterations=100, lower=LOWER, upper=UPPER
    )
    assert np.isfinite(best.loss)
    assert best.x[0] > 0
