"""Models as policies: anything with scikit-learn's `predict` or `predict_proba`, and ONNX files."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from bisimulator.auditing.audited_policy import AuditedPolicy
from bisimulator.auditing.score_functions import from_decisions
from bisimulator.auditing.split_bins import CountPeople
from bisimulator.core import Env, Values
from bisimulator.errors import check_known, check_real

SCORE, GROUP = "score", "group"
PICKLES = (".pkl", ".pickle", ".joblib", ".sav", ".dill")


@runtime_checkable
class Classifier(Protocol):
    """A fitted classifier, such as those of scikit-learn."""

    def predict(self, inputs: Any, /) -> Any: ...


@runtime_checkable
class ProbabilisticClassifier(Classifier, Protocol):
    """One that also tells probabilities, in the order of `classes_`."""

    @property
    def classes_(self) -> Sequence[object]: ...
    def predict_proba(self, inputs: Any, /) -> Any: ...


@runtime_checkable
class NamedInputs(Protocol):
    """A model that was fitted on a data frame and expects one."""

    @property
    def feature_names_in_(self) -> Sequence[str]: ...


@runtime_checkable
class CountedInputs(Protocol):
    """A model that knows how many columns it takes."""

    @property
    def n_features_in_(self) -> int: ...


@dataclasses.dataclass(frozen=True)
class ModelOptions:
    """What a model is given, and what of its answer accepts a person."""

    inputs: Sequence[str] = (SCORE,)  # its columns in order: "score", "group", or "group=NAME" for 1 or 0
    accepts: object = 1  # the class of the people whom it accepts
    cutoff: float | None = None  # accept from this probability of that class on; None: if it is predicted

    def __post_init__(self) -> None:
        if self.cutoff is not None:
            check_real("cutoff", self.cutoff, min=0, max=1)

    @property
    def in_words(self) -> str:
        if self.cutoff is None:
            return f"accepts whom it predicts to be of class {self.accepts!r}"
        return f"accepts from a probability of {self.cutoff:g} of class {self.accepts!r} on"


def from_model(
    name: str, model: Classifier, env: Env, options: ModelOptions, count_people: CountPeople | None = None
) -> AuditedPolicy:
    """A fitted classifier of the score, or of score and group.

    Raises:
        ValueError: if the inputs are not those of the model, or it has no such class or no probabilities.
    """
    _check_inputs(name, model, options.inputs, env)
    if options.cutoff is not None and not isinstance(model, ProbabilisticClassifier):
        raise ValueError(
            f"{name} has no predict_proba and classes_, which cutoff={options.cutoff:g} needs; leave it out"
        )
    if isinstance(model, ProbabilisticClassifier) and options.accepts not in list(model.classes_):
        raise ValueError(
            f"{name} has no class {options.accepts!r}; pass accepts=, one of {', '.join(map(repr, model.classes_))}"
        )

    def decide(scores: Float[Values, "N"], group: str) -> Float[Values, "N"]:
        table = _columns(model, scores, group, options.inputs)
        if options.cutoff is None or not isinstance(model, ProbabilisticClassifier):
            predicted = np.asarray(model.predict(table)).reshape(-1)
            return np.array([label == options.accepts for label in predicted], np.float64)
        column = list(model.classes_).index(options.accepts)
        return np.asarray(np.asarray(model.predict_proba(table))[:, column] >= options.cutoff, np.float64)

    given = f"The model {name}, given {', '.join(options.inputs)}, {options.in_words}"
    return from_decisions(name, given, decide, env, count_people)


def _check_inputs(name: str, model: Classifier, inputs: Sequence[str], env: Env) -> None:
    known = [SCORE, GROUP, *(f"{GROUP}={group}" for group in env.group_names)]
    for column in inputs:
        check_known("input of the model", column, known)
    if isinstance(model, CountedInputs) and model.n_features_in_ != len(inputs):
        named = f" ({', '.join(model.feature_names_in_)})" if isinstance(model, NamedInputs) else ""
        raise ValueError(
            f"{name} takes {model.n_features_in_} columns{named}, got inputs={tuple(inputs)}; name each of them in "
            f"order: {SCORE}, {GROUP}, or {GROUP}={env.group_names[-1]} for 1 or 0"
        )


def _columns(model: Classifier, scores: Float[Values, "N"], group: str, inputs: Sequence[str]) -> Any:
    """The model's table: a data frame if it was fitted on one."""
    columns: list[Any] = []
    for column in inputs:
        if column == SCORE:
            columns.append(scores)
        elif column == GROUP:
            columns.append(np.full(len(scores), group, object))
        else:
            columns.append(np.full(len(scores), float(column.partition("=")[2] == group)))
    if isinstance(model, NamedInputs):
        import pandas

        return pandas.DataFrame(dict(zip(model.feature_names_in_, columns, strict=True)))
    return np.column_stack(columns)


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
    if not path.is_file():
        raise ValueError(f"there is no file {path}; name an ONNX file")
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
            "its SerializeToString() to model.onnx and audit that; or load it yourself and pass the object to "
            "bisimulator.audit"
        )
