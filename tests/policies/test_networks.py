"""Networks: initialisation, shapes, and the codes of many groups."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

from bisimulator.core import Box
from bisimulator.policies import networks as nets
from bisimulator.policies.networks import Categoricals, Gaussian, Network

FEW, MANY = 2, 80
# one program instead of one for each operation
make_mlp = jax.jit(
    nets.make_mlp,
    static_argnums=(1, 2, 3, 4, 5),
    static_argnames=("input_scale", "groups", "group_blind"),
)
call = jax.jit(lambda network, x: network(x))


def observations(groups: int, count: int = 7, other: int = 2) -> np.ndarray:
    """As all of ours begin: a score, the group one-hot, then anything."""
    rng = np.random.default_rng(0)
    one_hot = np.eye(groups)[rng.integers(groups, size=count)]
    return np.hstack([rng.random((count, 1)), one_hot, rng.random((count, other))]).astype(np.float32)


@pytest.mark.parametrize("groups", [0, FEW, 32, 33, 100])
@pytest.mark.parametrize("hidden", [(), (8,), (8, 6)])
def test_any_leading_axes_and_any_number_of_groups(groups, hidden):
    network = jax.eval_shape(
        lambda key: make_mlp(key, groups + 3, hidden, 3, 0.01, groups=groups), jax.random.key(0)
    )
    assert network.inputs == groups + 3
    for shape in ((), (4,), (2, 5)):
        x = jax.ShapeDtypeStruct((*shape, groups + 3), jnp.float32)
        assert jax.eval_shape(lambda network, x: network(x), network, x).shape == (*shape, 3)


def test_few_groups_are_a_plain_perceptron():
    network = make_mlp(jax.random.key(1), 5, (8,), 2, 1.0, input_scale=3.0, groups=FEW)
    x = observations(FEW)
    w1, w2, b1, b2 = map(np.asarray, (*network.weights, *network.biases))
    np.testing.assert_allclose(network(jnp.asarray(x)), np.tanh(3 * x @ w1 + b1) @ w2 + b2, atol=1e-5)
    np.testing.assert_allclose(w1 @ w1.T, 2 * np.eye(5), atol=1e-5)  # orthogonal, gain sqrt(2)


@pytest.mark.parametrize("hidden", [(), (8,)])
def test_a_sharpened_network_has_larger_outputs_and_smaller_deviations(hidden):
    network, x = make_mlp(jax.random.key(1), 5, hidden, 4, 1.0), jnp.asarray(observations(FEW))
    np.testing.assert_allclose(call(network.sharpened(3.0), x), 3 * call(network, x), rtol=1e-5, atol=1e-6)
    choices = Categoricals(network, (2, 2)).sharpened(3.0)
    np.testing.assert_allclose(call(choices.outputs, x), 3 * call(network, x), rtol=1e-5, atol=1e-6)
    narrow = Gaussian(network, jnp.zeros(4)).sharpened(3.0)
    np.testing.assert_allclose(narrow.log_sd, -np.log(3) * np.ones(4), rtol=1e-6)
    np.testing.assert_array_equal(call(narrow.mean, x), call(network, x))


def test_wide_observations_of_few_groups_are_a_plain_perceptron():
    network = make_mlp(jax.random.key(1), 300, (8,), 2, 1.0, groups=FEW)
    assert network.weights[0].shape == (300, 8)


def test_many_groups_are_the_perceptron_whose_weights_of_the_one_hot_are_the_codes():
    network = make_mlp(jax.random.key(2), MANY + 3, (96, 8), 2, 1.0, input_scale=3.0, groups=MANY)
    first, *rest = network.weights
    whole = jnp.concatenate([first[:1], nets.group_codes(MANY, 96), first[1:]])
    plain = nets.MLP([whole, *rest], network.biases, 3.0)
    x = jnp.asarray(observations(MANY))
    np.testing.assert_allclose(call(network, x), call(plain, x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("groups", "width"), [(40, 64), (64, 40)])
def test_codes_are_orthogonal_and_the_same_every_time(groups, width):
    codes = nets.group_codes(groups, width)
    np.testing.assert_array_equal(codes, nets.group_codes.__wrapped__(groups, width))  # not from the cache
    product = codes @ codes.T if groups < width else codes.T @ codes
    np.testing.assert_allclose(product, 2 * np.eye(40), atol=1e-5)


def test_every_group_of_many_can_be_told_apart():
    """A regression on the group alone."""
    wanted = jnp.asarray(np.random.default_rng(1).choice([-1.0, 1.0], MANY))
    network = make_mlp(jax.random.key(3), MANY + 1, (256,), 1, 1.0, 20.0, groups=MANY)
    x = jnp.hstack([jnp.full((MANY, 1), 0.5), jnp.eye(MANY)])

    def loss(network):
        return jnp.mean((network(x)[:, 0] - wanted) ** 2)

    step = jax.jit(lambda n: jax.tree.map(lambda a, g: a - 0.003 * g, n, jax.grad(loss)(n)))
    for _ in range(400):
        network = step(network)
    assert (jnp.sign(network(x)[:, 0]) == wanted).all()


@pytest.mark.parametrize("groups", [3, 50])
def test_a_group_blind_network_gives_all_groups_the_same(groups):
    key = jax.random.key(0)
    scores, rest = np.full((groups, 1), 0.4), np.full((groups, 2), 0.7)
    obs = np.concatenate([scores, np.eye(groups), rest], 1, dtype=np.float32)
    others = np.concatenate([np.linspace(0, 1, groups)[:, None], obs[:, 1:]], 1, dtype=np.float32)
    blind, seeing = (
        make_mlp(key, groups + 3, (8,), 2, 1.0, groups=groups, group_blind=blind) for blind in (True, False)
    )
    assert blind.inputs == seeing.inputs == groups + 3
    out = np.asarray(call(blind, obs))
    np.testing.assert_array_equal(out, np.tile(out[:1], (groups, 1)))
    assert np.ptp(np.asarray(call(seeing, obs)), axis=0).max() > 0
    assert np.ptp(np.asarray(call(blind, others)), axis=0).max() > 0


def test_units_of_a_group_blind_network_begin_at_different_scores():
    """Without offsets every unit would be 0 at the same score, and a policy could hardly learn another threshold."""
    blind = make_mlp(jax.random.key(0), 5, (8,), 2, 1.0, input_scale=20.0, groups=2, group_blind=True)
    w, b = np.asarray(blind.weights[0]), np.asarray(blind.biases[0]) / 20
    together = np.vstack([w, b])
    np.testing.assert_allclose(together @ together.T, 2 * np.eye(4), atol=1e-5)


def test_a_gaussian_has_the_densities_of_scipy_and_stays_in_bounds():
    gaussian = Gaussian(make_mlp(jax.random.key(0), 3, (4,), 2, 1.0), jnp.array([-1.0, 0.5]))
    obs = np.random.default_rng(0).normal(size=(2000, 3)).astype(np.float32)
    actions = np.asarray(jax.jit(lambda g, obs: g.sample(jax.random.key(1), obs))(gaussian, obs))
    mean, sd = np.asarray(call(gaussian, obs)), np.exp([-1.0, 0.5])
    expected = scipy.stats.norm.logpdf(actions, mean, sd)
    log_prob = jax.jit(lambda g, obs, actions: g.log_prob(obs, actions))(gaussian, obs, actions)
    np.testing.assert_allclose(log_prob, expected.sum(1), rtol=1e-4, atol=1e-4)
    assert float(gaussian.entropy()) == pytest.approx(scipy.stats.norm.entropy(scale=sd).sum(), rel=1e-5)
    z = (actions - mean) / sd
    assert scipy.stats.kstest(z.ravel(), "norm").pvalue > 0.01

    class Bounded:
        action_space = Box(-0.5, 0.5, (2,))

    for greedy in (True, False):
        decided = np.asarray(jax.jit(Network(gaussian, greedy).bind(Bounded))(jax.random.key(1), obs))
        np.testing.assert_allclose(decided, np.clip(mean if greedy else actions, -0.5, 0.5), atol=1e-5)


def test_choices_are_independent_categories():
    choices = Categoricals(make_mlp(jax.random.key(0), 3, (4,), 5, 1.0), (3, 2))
    obs = np.random.default_rng(0).normal(size=(3,)).astype(np.float32)
    outputs = np.asarray(choices.outputs(obs), np.float64)
    chances = [scipy.special.softmax(outputs[:3]), scipy.special.softmax(outputs[3:])]
    many = np.tile(obs, (4000, 1))
    actions = np.asarray(jax.jit(lambda c, obs: c.sample(jax.random.key(1), obs))(choices, many))
    joint = np.zeros((3, 2))
    np.add.at(joint, tuple(actions.T), 1)
    expected = 4000 * np.outer(*chances)
    assert scipy.stats.chisquare(joint.ravel(), expected.ravel()).pvalue > 0.01
    log_prob, entropy = jax.jit(lambda c, obs, a: c.log_prob_and_entropy(obs, a))(choices, many, actions)
    np.testing.assert_allclose(np.exp(log_prob), np.outer(*chances)[tuple(actions.T)], rtol=1e-4)
    np.testing.assert_allclose(entropy, sum(scipy.stats.entropy(p) for p in chances), rtol=1e-4)
    np.testing.assert_array_equal(choices(obs), [p.argmax() for p in chances])
    for greedy in (True, False):
        decided = jax.jit(Network(choices, greedy).bind(None))(jax.random.key(1), many)
        np.testing.assert_array_equal(decided, call(choices, many) if greedy else actions)
