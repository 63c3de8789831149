"""Models as policies: anything with scikit-learn's `predict` or `predict_proba`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from bisimulator.auditing.audited_policy import AuditedPolicy
from bisimulator.auditing.feature_decisions import GROUP, SCORE, Inputs, from_rows
from bisimulator.auditing.score_functions import from_decisions
from bisimulator.auditing.split_bins import CountPeople
from bisimulator.core import Env, Values
from bisimulator.errors import check_known, check_real
from bisimulator.people._bins import ScoredRows


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


@dataclasses.dataclass(frozen=True, eq=False)
class ModelOptions:
    """What a model is given, and what of its answer accepts a person."""

    # its columns in order: "score", "group", "group=NAME" for 1 or 0, or features; None: score, then all features
    inputs: Sequence[str] | None = None
    accepts: object = 1  # the class of the people whom it accepts
    cutoff: float | None = None  # accept from this probability of that class on; None: if it is predicted
    trusted: Sequence[str] = ()  # types that a skops file may contain
    records: ScoredRows | None = None  # the rows of the data, with features
    progress: bool = False  # show how far it is, if the model is asked about every row

    def __post_init__(self) -> None:
        if self.cutoff is not None:
            check_real("cutoff", self.cutoff, min=0, max=1)

    @property
    def features(self) -> tuple[str, ...]:
        return () if self.records is None else tuple(self.records.features)

    @property
    def columns(self) -> tuple[str, ...]:
        """The model's columns in order."""
        return (SCORE, *self.features) if self.inputs is None else tuple(self.inputs)

    @property
    def in_words(self) -> str:
        if self.cutoff is None:
            return f"accepts whom it predicts to be of class {self.accepts!r}"
        return f"accepts from a probability of {self.cutoff:g} of class {self.accepts!r} on"


def from_model(
    name: str, model: Classifier, env: Env, options: ModelOptions, count_people: CountPeople | None = None
) -> AuditedPolicy:
    """A fitted classifier of the score, of score and group, or also of further columns of the data.

    Raises:
        ValueError: if the inputs are not those of the model, or it has no such class or no probabilities.
    """
    _check_inputs(name, model, options, env)
    decide = decisions_of(name, model, options)
    given = f"The model {name}, given {', '.join(options.columns)}, {options.in_words}"
    if options.records is not None and set(options.columns) & set(options.features):
        return from_rows(
            name, given, decide, env, options.records, options.columns, progress=options.progress
        )

    def decide_alone(scores: Float[Values, "N"], group: str) -> Float[Values, "N"]:
        return decide({SCORE: scores, GROUP: np.full(len(scores), group, object)})

    return from_decisions(name, given, decide_alone, env, count_people)


def decisions_of(
    name: str, model: Classifier, options: ModelOptions
) -> Callable[[Inputs], Float[Values, "N"]]:
    """Whom the model accepts (1) and whom not (0), as a function of all columns by name."""
    cutoff, accepts = options.cutoff, options.accepts
    if cutoff is not None and not isinstance(model, ProbabilisticClassifier):
        raise ValueError(
            f"{name} has no predict_proba and classes_, which cutoff={cutoff:g} needs; leave it out"
        )
    if isinstance(model, ProbabilisticClassifier) and accepts not in list(model.classes_):
        raise ValueError(
            f"{name} has no class {accepts!r}; pass accepts=, one of {', '.join(map(repr, model.classes_))}"
        )

    def decide(inputs: Inputs) -> Float[Values, "N"]:
        table = _table(model, inputs, options.columns)
        if cutoff is None or not isinstance(model, ProbabilisticClassifier):
            predicted = np.asarray(model.predict(table)).reshape(-1)
            return np.array([label == accepts for label in predicted], np.float64)
        column = list(model.classes_).index(accepts)
        return np.asarray(np.asarray(model.predict_proba(table))[:, column] >= cutoff, np.float64)

    return decide


def _check_inputs(name: str, model: Classifier, options: ModelOptions, env: Env) -> None:
    for feature in options.features:
        if feature in (SCORE, GROUP):
            raise ValueError(
                f"a feature is called {feature!r}, which stands for the {feature} that the audit uses; rename it"
            )
    known = [SCORE, GROUP, *(f"{GROUP}={group}" for group in env.group_names), *options.features]
    for column in options.columns:
        check_known("input of the model", column, known)
    if isinstance(model, CountedInputs) and model.n_features_in_ != len(options.columns):
        named = f" ({', '.join(model.feature_names_in_)})" if isinstance(model, NamedInputs) else ""
        further = " or a column that features= of the population names" if not options.features else ""
        raise ValueError(
            f"{name} takes {model.n_features_in_} columns{named}, got inputs={options.columns}; name each of them in "
            f"order: {', '.join((SCORE, GROUP, *options.features))}, or {GROUP}={env.group_names[-1]} for 1 or 0"
            f"{',' if further else ''}{further}"
        )


def _table(model: Classifier, inputs: Inputs, columns: Sequence[str]) -> Any:
    """The model's table: a data frame if it was fitted on one."""
    values = [_column(inputs, name) for name in columns]
    if isinstance(model, NamedInputs):
        import pandas

        return pandas.DataFrame(dict(zip(model.feature_names_in_, values, strict=True)))
    return np.column_stack(values)


def _column(inputs: Inputs, name: str) -> Any:
    if name in inputs:
        return inputs[name]
    return np.asarray(inputs[GROUP] == name.partition("=")[2], np.float64)
