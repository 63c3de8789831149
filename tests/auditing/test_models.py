"""Models as policies decide in the audit as they decide on their own."""

from pathlib import Path

import numpy as np
import pytest

from bisimulator.auditing.group_numbers import score_table
from bisimulator.auditing.model_files import OnnxClassifier, _probabilities, refuse_pickle
from bisimulator.auditing.models import (
    ModelOptions,
    from_model,
)
from bisimulator.auditing.read_policy import read_policy

linear_model = pytest.importorskip("sklearn.linear_model")


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(100)
    score = rng.integers(300, 851, 3000).astype(float)
    down = rng.random(3000) < 0.3
    repaid = (rng.random(3000) < 1 / (1 + np.exp((580 + 40 * down - score) / 60))).astype(int)
    return score, down, repaid


@pytest.fixture(scope="module")
def by_score(records):
    score, _, repaid = records
    return linear_model.LogisticRegression().fit(score[:, None], repaid)


def decisions(audited, scores, g):
    """What the audit's policy does at these scores."""
    edges = audited.env.params.score_edges
    places = np.searchsorted(edges, scores, side="right") - 1
    return score_table(audited.env, audited.policy)[g, places]


SCORES = np.arange(300, 850, 0.5)


def test_a_model_of_the_score(by_score, env):
    audited = from_model("logistic", by_score, env, ModelOptions())
    np.testing.assert_array_equal(decisions(audited, SCORES, 1), by_score.predict(SCORES[:, None]))
    assert (
        audited.description == "The model logistic, given score, accepts whom it predicts to be of class 1."
    )
    assert audited.env.params.num_scores == 2 * 4


def test_a_cutoff_on_the_probability_of_a_class(by_score, env):
    audited = from_model("logistic", by_score, env, ModelOptions(cutoff=0.8))
    expected = by_score.predict_proba(SCORES[:, None])[:, 1] >= 0.8
    np.testing.assert_array_equal(decisions(audited, SCORES, 0), expected)
    assert "from a probability of 0.8 of class 1 on" in audited.description


def test_a_model_that_predicts_defaults_accepts_class_0(records, env):
    score, _, repaid = records
    defaults = linear_model.LogisticRegression().fit(score[:, None], 1 - repaid)
    audited = from_model("defaults", defaults, env, ModelOptions(accepts=0, cutoff=0.7))
    expected = defaults.predict_proba(SCORES[:, None])[:, 0] >= 0.7
    np.testing.assert_array_equal(decisions(audited, SCORES, 0), expected)


def test_a_model_of_score_and_group_fitted_on_a_frame(records, env):
    pandas = pytest.importorskip("pandas")
    score, down, repaid = records
    frame = pandas.DataFrame({"points": score, "is_down": down.astype(float)})
    model = linear_model.LogisticRegression().fit(frame, repaid)
    audited = from_model("both", model, env, ModelOptions(inputs=("score", "group=down"), cutoff=0.8))
    for g in range(2):
        own = pandas.DataFrame({"points": SCORES, "is_down": float(g)})
        np.testing.assert_array_equal(decisions(audited, SCORES, g), model.predict_proba(own)[:, 1] >= 0.8)
    assert (decisions(audited, SCORES, 0) != decisions(audited, SCORES, 1)).any()


class PredictsOnly:
    def predict(self, table):
        return table[:, 0] >= 640


def test_a_model_without_probabilities(env):
    audited = from_model("rule", PredictsOnly(), env, ModelOptions(accepts=True))
    np.testing.assert_array_equal(decisions(audited, SCORES, 0), SCORES >= 640)
    with pytest.raises(ValueError, match=r"rule has no predict_proba and classes_, which cutoff=0\.5 needs"):
        from_model("rule", PredictsOnly(), env, ModelOptions(cutoff=0.5))


def test_wrong_options_are_explained(by_score, env):
    with pytest.raises(ValueError, match=r"logistic takes 1 columns, got inputs=\('score', 'group=down'\)"):
        from_model("logistic", by_score, env, ModelOptions(inputs=("score", "group=down")))
    with pytest.raises(ValueError, match="Unknown input of the model 'group=dwon'"):
        from_model("logistic", by_score, env, ModelOptions(inputs=("group=dwon",)))
    with pytest.raises(ValueError, match="logistic has no class 2; pass accepts=, one of "):
        from_model("logistic", by_score, env, ModelOptions(accepts=2))
    with pytest.raises(ValueError, match=r"cutoff must lie in \[0, 1\]"):
        ModelOptions(cutoff=80)


@pytest.mark.parametrize("name", ["model.pkl", "model.joblib", "folder/Model.PICKLE"])
def test_pickles_are_refused_with_the_reason_and_the_way_to_convert(name, env):
    with pytest.raises(ValueError, match=r"run whatever code is in them.*skl2onnx\.to_onnx"):
        read_policy(name, env)
    refuse_pickle(Path("model.onnx"))  # others are not


def test_answers_of_onnx_models():
    labels = np.array([0, 1, 1])
    probabilities = np.array([[0.9, 0.1], [0.3, 0.7], [0.2, 0.8]], np.float32)
    np.testing.assert_allclose(_probabilities([labels, probabilities]), probabilities)
    zipped = [{0: 0.9, 1: 0.1}, {0: 0.3, 1: 0.7}]
    np.testing.assert_allclose(_probabilities([labels[:2], zipped]), probabilities[:2], rtol=1e-6)
    np.testing.assert_allclose(_probabilities([labels]), [[1, 0], [0, 1], [0, 1]])
    with pytest.raises(ValueError, match="got -3 to 640; export a classifier"):
        _probabilities([np.array([-3.0, 640.0])])


def test_a_missing_onnx_file_is_named(env):
    with pytest.raises(ValueError, match=r"there is no file nowhere\.onnx"):
        read_policy("nowhere.onnx", env)


def test_an_onnx_file_decides_like_the_model_it_was_made_from(by_score, env, tmp_path):
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    path = tmp_path / "model.onnx"
    path.write_bytes(logistic_onnx(onnx, by_score).SerializeToString())
    assert OnnxClassifier(path).n_features_in_ == 1
    exported = read_policy(str(path), env, model=ModelOptions(cutoff=0.8))
    original = from_model("logistic", by_score, env, ModelOptions(cutoff=0.8))
    np.testing.assert_array_equal(decisions(exported, SCORES, 0), decisions(original, SCORES, 0))


def logistic_onnx(onnx, model):
    """A logistic regression written by hand: sigmoid(x w + b) as probability of class 1."""
    helper, kinds = onnx.helper, onnx.TensorProto
    weights = helper.make_tensor("w", kinds.FLOAT, [1, 1], model.coef_.ravel())
    bias = helper.make_tensor("b", kinds.FLOAT, [1], model.intercept_)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["z"]),
        helper.make_node("Add", ["z", "b"], ["logit"]),
        helper.make_node("Sigmoid", ["logit"], ["p"]),
    ]
    taken = helper.make_tensor_value_info("x", kinds.FLOAT, [None, 1])
    given = helper.make_tensor_value_info("p", kinds.FLOAT, [None, 1])
    graph = helper.make_graph(nodes, "logistic", [taken], [given], [weights, bias])
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8)
