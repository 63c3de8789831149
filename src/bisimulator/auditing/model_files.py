"""Models from files: ONNX and skops; files that run code when they are loaded are refused."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from bisimulator.auditing.models import Classifier
from bisimulator.core import Values

PICKLES = (".pkl", ".pickle", ".joblib", ".sav", ".dill")
ONNX, SKOPS = ".onnx", ".skops"


def is_model_file(path: Path) -> bool:
    return path.suffix.lower() in (ONNX, SKOPS)


def read_model(path: Path, trusted: Sequence[str] = ()) -> Classifier:
    """The classifier in a file.

    Args:
        path: an ONNX or a skops file.
        trusted: types that a skops file may contain in addition to those that skops trusts.

    Raises:
        ValueError: if there is no such file, or it is not a classifier, or has other types.
        ImportError: if the packages that read it are not installed.
    """
    if not path.is_file():
        raise ValueError(f"there is no file {path}; name an ONNX or a skops file")
    return OnnxClassifier(path) if path.suffix.lower() == ONNX else read_skops(path, trusted)


def read_skops(path: Path, trusted: Sequence[str] = ()) -> Classifier:
    """A scikit-learn model that skops wrote. Nothing is built of types that are neither known to it nor trusted."""
    try:
        import skops.io
    except ImportError:
        raise ImportError(
            "skops files need skops and scikit-learn; install them with: pip install 'bisimulator[models]'"
        ) from None
    try:
        unknown = skops.io.get_untrusted_types(file=path)
    except (zipfile.BadZipFile, KeyError):
        raise ValueError(
            f"{path.name} is not a skops file; write it with skops.io.dump(model, path)"
        ) from None
    refused = [name for name in unknown if name not in trusted]
    if refused:
        names = ", ".join(refused)
        raise ValueError(
            f"{path.name} contains types that are not trusted: {names}. Loading them may run their code. If you know "
            f"them and where the file comes from, pass trusted={refused} (--trusted {' '.join(refused)})"
        )
    model = skops.io.load(path, trusted=unknown)
    if not isinstance(model, Classifier):
        raise ValueError(
            f"{path.name} contains a {type(model).__name__} without predict; write a fitted classifier to it"
        )
    return model


class OnnxClassifier:
    """An ONNX file as a classifier of the classes 0 and 1; one input of numbers, shape (people, columns)."""

    classes_: Sequence[object] = (0, 1)

    def __init__(self, path: Path) -> None:
        self._session = _onnx_session(path)
        taken = self._session.get_inputs()
        if len(taken) != 1:
            raise ValueError(
                f"{path.name} has {len(taken)} inputs; export it with one of shape (people, columns), as "
                "skl2onnx.to_onnx(model, table.astype(numpy.float32)) does"
            )
        self._name, self._type = taken[0].name, taken[0].type
        width = taken[0].shape[-1] if len(taken[0].shape) == 2 else None
        if isinstance(width, int):
            self.n_features_in_ = width

    def predict(self, inputs: Any) -> Values:
        return (self.predict_proba(inputs)[:, 1] >= 0.5).astype(np.float64)

    def predict_proba(self, inputs: Any) -> Float[Values, "N 2"]:
        dtype = np.float64 if "double" in self._type else np.float32
        answers = self._session.run(None, {self._name: np.asarray(inputs, dtype)})
        return _probabilities(answers)


def _onnx_session(path: Path) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise ImportError(
            "ONNX files need onnxruntime; install it with: pip install 'bisimulator[models]'"
        ) from None
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def _probabilities(answers: Sequence[Any]) -> Float[Values, "N 2"]:
    """Of the classes 0 and 1: from the output of probabilities if there is one, otherwise from the labels."""
    for answer in answers:
        if isinstance(answer, list) and answer and isinstance(answer[0], dict):  # ZipMap
            return np.array([[row.get(0, 0.0), row.get(1, 0.0)] for row in answer], np.float64)
        if np.ndim(answer) == 2 and np.shape(answer)[1] == 2:
            return np.asarray(answer, np.float64)
    accept = np.asarray(answers[0], np.float64).reshape(-1)
    if ((accept < 0) | (accept > 1)).any():
        raise ValueError(
            f"an ONNX classifier must answer with labels 0 and 1 or probabilities, got {accept.min():g} to "
            f"{accept.max():g}; export a classifier, not a regression"
        )
    return np.stack([1 - accept, accept], axis=1)


def refuse_pickle(path: Path) -> None:
    """Raise an error for files that run code when they are loaded."""
    if path.suffix.lower() in PICKLES:
        raise ValueError(
            f"{path.name}: pickle and joblib files run whatever code is in them when they are loaded, so they are not "
            "read. Convert the model where you trust it: skl2onnx.to_onnx(model, table.astype(numpy.float32)), write "
            "its SerializeToString() to model.onnx and audit that; or skops.io.dump(model, 'model.skops'); or load it "
            "yourself and pass the object to bisimulator.audit"
        )
