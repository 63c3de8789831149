"""skops files: read if all their types are known or trusted, refused otherwise."""

from pathlib import Path

import numpy as np
import pytest

from bisimulator.auditing.model_files import read_model
from bisimulator.auditing.models import ModelOptions, from_model
from bisimulator.auditing.read_policy import read_policy
from bisimulator.policies import Table

skops = pytest.importorskip("skops.io")
ensemble = pytest.importorskip("sklearn.ensemble")
linear_model = pytest.importorskip("sklearn.linear_model")

TREES = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"


@pytest.fixture(scope="module")
def records():
    score = np.random.default_rng(100).uniform(300, 850, 500)
    return score[:, None], (score > 612).astype(int)


def test_a_skops_file_decides_like_the_model_in_it(records, env, tmp_path):
    model = linear_model.LogisticRegression().fit(*records)
    skops.dump(model, tmp_path / "model.skops")
    read = read_policy(str(tmp_path / "model.skops"), env, model=ModelOptions(cutoff=0.7))
    original = from_model("model.skops", model, env, ModelOptions(cutoff=0.7))
    assert read.description == original.description
    assert read.env.params.score_edges == original.env.params.score_edges
    assert isinstance(read.policy, Table)
    np.testing.assert_array_equal(read.policy.probabilities, original.policy.probabilities)


def test_types_that_nobody_trusts_are_refused_by_name(records, tmp_path):
    model = ensemble.HistGradientBoostingClassifier(max_iter=2).fit(*records)
    path = tmp_path / "trees.skops"
    skops.dump(model, path)
    with pytest.raises(
        ValueError, match=r"trees\.skops contains types that are not trusted: .*--trusted sklearn"
    ):
        read_model(path)
    with pytest.raises(ValueError, match="TreePredictor"):
        read_model(path, trusted=["some.other.Type"])
    read = read_model(path, trusted=[TREES])
    np.testing.assert_array_equal(read.predict(records[0]), model.predict(records[0]))


def test_other_files_are_explained(tmp_path):
    (tmp_path / "text.skops").write_text("hello", encoding="utf-8")
    with pytest.raises(ValueError, match=r"text\.skops is not a skops file; write it with skops\.io\.dump"):
        read_model(tmp_path / "text.skops")
    skops.dump({"a": 1}, tmp_path / "dict.skops")
    with pytest.raises(ValueError, match=r"dict\.skops contains a dict without predict"):
        read_model(tmp_path / "dict.skops")
    with pytest.raises(ValueError, match=r"there is no file nowhere\.skops"):
        read_model(Path("nowhere.skops"))
