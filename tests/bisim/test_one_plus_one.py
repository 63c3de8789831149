"""The (1+1) evolution against nevergrad's on standard functions, and its promises."""

import jax
import jax.numpy as jnp
import nevergrad as ng
import numpy as np
import pytest

from bisimulator.bisim.one_plus_one import one_plus_one

DIMENSIONS, BUDGET, SEEDS = 4, 300, 25
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
    """Its best loss from the same start with the same first step and the same number of evaluations."""
    space = ng.p.Array(init=START.astype(float)).set_mutation(sigma=STEP * (UPPER - LOWER))
    space.random_state = np.random.RandomState(seed)
    optimiser = ng.optimizers.OnePlusOne(parametrization=space, budget=BUDGET + 1)
    best = np.inf
    for _ in range(BUDGET + 1):
        candidate = optimiser.ask()
        loss = float(function(candidate.value))
        optimiser.tell(candidate, loss)
        best = min(best, loss)
    return best


@pytest.mark.parametrize("function", [sphere, ellipsoid, rosenbrock])
def test_it_converges_as_nevergrads_does(function):
    ours = jax.jit(jax.vmap(lambda seed: search(function, seed).loss))(jnp.arange(SEEDS))
    theirs = [nevergrad_loss(function, seed) for seed in range(SEEDS)]
    start = float(function(START))
    assert np.median(ours) < start / 100
    # same order of magnitude: a factor of ten either way (a search without step control misses it by far)
    assert abs(np.log10(np.median(ours)) - np.log10(np.median(theirs))) < 1


def test_it_is_deterministic_and_another_key_is_another_search():
    first, again, other = (search(sphere, seed, iterations=20) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.x, again.x)
    assert (np.asarray(first.x) != np.asarray(other.x)).any()


def test_bounds_hold_and_a_minimum_outside_is_met_at_the_bound():
    lower, upper = jnp.array([1.0, -5.0, 2.0, -1.0]), jnp.array([5.0, 5.0, 2.0, 0.0])
    start = jnp.array([3.0, -2.0, 2.0, -1.0])
    found = search(sphere, 0, start=start, lower=lower, upper=upper)
    assert (np.asarray(found.x) >= np.asarray(lower)).all()
    assert (np.asarray(found.x) <= np.asarray(upper)).all()
    assert found.x[2] == 2  # bounds of width 0 keep an entry as it is
    np.testing.assert_allclose(found.x, [1, 0, 2, 0], atol=0.05)


def test_it_never_gets_worse_and_reports_the_loss_of_its_point():
    losses = [float(search(rosenbrock, 3, iterations=n).loss) for n in (1, 4, 16)]
    assert float(rosenbrock(START)) >= losses[0] >= losses[1] >= losses[2]
    found = search(rosenbrock, 3, iterations=16)
    assert float(found.loss) == pytest.approx(float(rosenbrock(np.asarray(found.x, float))), rel=1e-5)


def test_what_the_loss_carries_along_is_that_of_the_best_point():
    """aux counts the accepted candidates' evaluations: a rejected candidate's aux is thrown away."""

    def loss(x, aux):
        return sphere(x), (aux[0] + 1, x)

    aux = (jnp.int32(0), jnp.asarray(START))
    found = one_plus_one(
        jax.random.key(0), loss, jnp.asarray(START), aux, iterations=50, lower=LOWER, upper=UPPER
    )
    np.testing.assert_array_equal(found.aux[1], found.x)
    assert 1 < int(found.aux[0]) < 51


def test_a_loss_that_is_not_a_number_is_never_kept():
    def loss(x, aux):
        return jnp.where(x[0] > 0, sphere(x), jnp.nan), aux

    found = one_plus_one(
        jax.random.key(0), loss, jnp.asarray(START), (), iterations=100, lower=LOWER, upper=UPPER
    )
    assert np.isfinite(found.loss)
    assert found.x[0] > 0
