"""The policy of an audit from its text: thresholds, a rule's name, a finished job or a Python function."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

from bisimulator import registry
from bisimulator.auditing.audited_policy import AuditedPolicy
from bisimulator.auditing.model_files import is_model_file, read_model, refuse_pickle
from bisimulator.auditing.models import ModelOptions, from_model
from bisimulator.auditing.score_functions import from_function, load_function
from bisimulator.auditing.split_bins import CountPeople
from bisimulator.auditing.thresholds import from_thresholds
from bisimulator.core import Env
from bisimulator.jobs.labels import changed_options
from bisimulator.jobs.spec import Spec
from bisimulator.jobs.store import load, load_policies
from bisimulator.policies import Policy
from bisimulator.policies.rules import rule_policy


@runtime_checkable
class Trained(Protocol):
    """A finished training, such as `bisimulator.TrainingResult`."""

    @property
    def spec(self) -> Spec: ...
    def policy(self, seed: int | None = None) -> Policy: ...
    def env(self, seed: int | None = None) -> Env: ...


def read_policy(
    text: str,
    env: Env | None,
    *,
    in_bins: bool = False,
    seed: int | None = None,
    count_people: CountPeople | None = None,
    model: ModelOptions = ModelOptions(),  # noqa: B008 - frozen
) -> AuditedPolicy:
    """The policy that `text` names.

    Args:
        text: thresholds (`640`, or `white=640,others=620`), a rule of `bisimulator list`, the folder of a finished job,
            an ONNX or skops file, or a function (`module:name`, or `file.py:name`), which is imported.
        env: the environment; None for a finished job means its own.
        in_bins: thresholds count bins from 0, not points.
        seed: which policy of a trained job; the first one by default.
        count_people: counts the people of the data in other bins, as `Population.count` does; without it people are
            assumed to be spread evenly within a bin.
        model: what a model is given, and what of its answer accepts a person.

    Raises:
        ValueError: if `text` is none of these; the message says what is expected.

    Example:
        >>> read_policy("640", bisimulator.make("lending-us-2003"))
    """
    if (Path(text) / "config.json").is_file():
        return _from_job(Path(text), env, seed)
    if env is None:
        raise ValueError(
            f"{text!r} is not the folder of a finished job, so people are needed: --population people.csv or "
            "--scenario lending-us-2003"
        )
    path = Path(text)
    refuse_pickle(path)
    if is_model_file(path):
        return from_model(path.name, read_model(path, model.trusted), env, model, count_people)
    if ":" in text:
        return from_function(text, load_function(text), env, count_people=count_people)
    if text in registry.names("method"):
        return _from_rule(text, env)
    return from_thresholds(text, env, in_bins=in_bins, count_people=count_people)


def _from_rule(name: str, env: Env) -> AuditedPolicy:
    return AuditedPolicy(name, f"{registry.lookup('method', name).summary}.", env, rule_policy(name, env))


def _from_rule_job(spec: Spec, env: Env | None) -> AuditedPolicy:
    """The rule with the job's own options."""
    env = spec.make_env() if env is None else env
    options = {
        name.removeprefix("config."): value
        for name, value in changed_options(spec).items()
        if name.startswith("config.")
    }
    changed = ", ".join(f"{name} {value}" for name, value in options.items())
    summary = registry.lookup("method", spec.method).summary
    description = f"{summary} ({changed})." if changed else f"{summary}."
    return AuditedPolicy(spec.method, description, env, rule_policy(spec.method, env, spec.config))


def _from_job(folder: Path, env: Env | None, seed: int | None) -> AuditedPolicy:
    result = load(folder)
    if result is None:
        raise ValueError(
            f"{folder} holds no job that is finished and as it was written; `bisimulator runs verify` says why, and "
            "the command that made the job resumes it or computes it again"
        )
    spec = result.spec
    if spec.solver is None:
        return _from_rule_job(spec, env)
    _, trained = load_policies(folder)
    if seed is not None and seed not in spec.seeds:
        raise ValueError(f"seed {seed} was not trained; choose one of {', '.join(map(str, spec.seeds))}")
    index = 0 if seed is None else spec.seeds.index(seed)
    return _from_network(str(folder), spec, spec.seeds[index], *trained[index], env)


def from_trained(trained: Trained, env: Env | None, seed: int | None = None) -> AuditedPolicy:
    """The policy of a seed of a training, among its own people or those of `env`."""
    spec = trained.spec
    if spec.solver is None:
        return _from_rule_job(spec, env)
    seed = spec.seeds[0] if seed is None else seed
    return _from_network(
        f"the {spec.method} policy", spec, seed, trained.env(seed), trained.policy(seed), env
    )


def _from_network(
    where: str, spec: Spec, seed: int, own_env: Env, policy: Policy, env: Env | None
) -> AuditedPolicy:
    if env is not None:
        if (env.num_groups, env.observation_size) != (own_env.num_groups, own_env.observation_size):
            raise ValueError(
                f"{where} was trained for {own_env.num_groups} groups and {own_env.observation_size} observed "
                f"numbers; these people have {env.num_groups} and {env.observation_size}"
            )
        own_env = env.with_omega(own_env.params.omega)
    description = f"A network, trained by {spec.method} on {spec.scenario} (seed {seed})."
    return AuditedPolicy(f"{spec.method} (seed {seed})", description, own_env, policy)
