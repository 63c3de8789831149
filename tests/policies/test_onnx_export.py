"""Exported networks decide as they do here, run by onnxruntime."""

import equinox as eqx
import jax
import numpy as np
import pytest

import bisimulator
from bisimulator.policies import Gaussian, Network, make_mlp

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

MANY = 40  # groups, more than a first layer weighs one by one
NETWORKS = {
    "two groups": (2, {}),
    "input scale": (2, {"input_scale": 3.0}),
    "group-blind": (2, {"group_blind": True}),
    "coded groups": (MANY, {"input_scale": 2.0}),
    "many groups, group-blind": (MANY, {"group_blind": True}),
}


def observations(groups, number=2000):
    rng = np.random.default_rng(100)
    one_hot = np.eye(groups)[rng.integers(0, groups, number)]
    return np.column_stack([rng.random(number), one_hot, rng.random((number, 2))]).astype(np.float32)


@pytest.mark.parametrize("greedy", [True, False])
@pytest.mark.parametrize(("groups", "options"), NETWORKS.values(), ids=NETWORKS)
def test_decisions_are_the_same(groups, options, greedy, tmp_path):
    obs, env = observations(groups), bisimulator.make("lending", groups=groups)
    network = make_mlp(jax.random.key(3), groups + 3, (16, 16), 2, 1.0, groups=groups, **options)
    middle = np.median(np.diff(network(obs), axis=1))  # so that half of them are accepted
    network = eqx.tree_at(lambda n: n.biases[-1], network, np.array([0.5, 0.5 - middle], np.float32))
    policy = Network(network, greedy)
    policy.to_onnx(tmp_path / "policy.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "policy.onnx"), providers=["CPUExecutionProvider"])
    probabilities, action = session.run(["probabilities", "action"], {"observations": obs})
    expected = np.asarray(network(obs)).argmax(-1)
    assert 0 < expected.mean() < 1
    np.testing.assert_array_equal(action, expected)
    accept = policy.accept_probability(env, obs)
    np.testing.assert_allclose(probabilities[:, 1], accept, rtol=0, atol=0 if greedy else 1e-6)
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-6)


def test_continuous_actions_are_refused(tmp_path):
    network = Gaussian(make_mlp(jax.random.key(0), 5, (4,), 1, 1.0), np.zeros(1))
    with pytest.raises(ValueError, match="got Gaussian; save the training instead"):
        Network(network).to_onnx(tmp_path / "policy.onnx")
    assert not (tmp_path / "policy.onnx").exists()
