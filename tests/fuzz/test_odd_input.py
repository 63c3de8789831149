"""Environments, populations, settings and configurations from odd values."""

import dataclasses
import inspect
import json
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import bisimulator
from bisimulator import registry
from bisimulator.cli._settings import parse_settings
from bisimulator.cli._sweep import split_sweep
from bisimulator.jobs.spec import make_spec, spec_from_dict
from bisimulator.solvers.trainer import SOLVERS
from tests.fuzz.odd_values import CLEAN, EXAMPLES, NAMES, ODD, check_clean

ENVIRONMENTS = registry.names("environment")
PARAMETERS = {
    name: sorted(inspect.signature(registry.lookup("environment", name).make_params).parameters)
    for name in ENVIRONMENTS
}


@EXAMPLES
def test_an_environment_is_sane_or_refused(examples):
    @settings(max_examples=examples)
    @given(data=st.data())
    def check(data):
        name = data.draw(st.sampled_from(ENVIRONMENTS))
        chosen = data.draw(st.lists(st.sampled_from(PARAMETERS[name]), max_size=3, unique=True))
        try:
            env = bisimulator.make(name, **{parameter: data.draw(ODD) for parameter in chosen})
        except CLEAN as error:
            check_clean(error)
            return
        p = env.params
        assert p.num_groups >= 1
        assert p.population >= 1
        assert env.horizon >= 1
        assert len(env.group_names) == p.num_groups
        assert abs(float(p.group_probs.sum()) - 1) < 1e-4
        assert np.isfinite(np.asarray(p.omega)).all()
        if env.scenario.applicants:
            probs = np.asarray(p.qualified_probs)
            assert ((probs >= 0) & (probs <= 1)).all()
            assert np.isfinite(np.asarray(p.accept_rewards)).all()

    check()


@pytest.mark.parametrize("name", [name for name in ENVIRONMENTS if "group_names" in PARAMETERS[name]])
@pytest.mark.parametrize("names", [0, 5, "ab", ["a", "a"], ["a", 1]])
def test_names_of_groups_are_names(name, names):
    with pytest.raises(ValueError, match="group_names must"):
        bisimulator.make(name, group_names=names)


@EXAMPLES
def test_a_policy_is_evaluated_exactly_or_refused(examples):
    """No table is stretched, cut or read out of its range."""
    env = bisimulator.make("lending", population=5, horizon=20)
    shapes = st.sampled_from([(2, 7), (1, 7), (3, 7), (2, 8), (2,), (7, 2), (20, 2, 7), (0, 7), ()])
    tables = st.builds(np.full, shapes, st.sampled_from([0, 1, 0.5, True, 2, -0.1, np.nan]))
    functions = st.sampled_from([int, max, lambda: 1, lambda a, b, c: 1])

    @settings(max_examples=examples)
    @given(policy=st.one_of(tables, functions, ODD))
    def check(policy):
        try:
            found = bisimulator.evaluation.exact_evaluation(env, policy)
        except CLEAN as error:
            check_clean(error)
            return
        if found is None:  # a policy that changes with time
            assert np.shape(policy)[1:] == (2, 7)
            return
        assert np.shape(policy) == (2, 7)
        assert np.isfinite(found.average_return)
        assert 0 <= found.recall_gap <= 1

    check()


CELLS = st.one_of(
    st.sampled_from(
        ["a", "b", "1", "0", "yes", "no", "640", "700.5", "", "nan", "inf", "-1", "1e400", "1_0", "x"]
    ),
    NAMES,
)


@EXAMPLES
def test_a_population_is_sane_or_refused(examples):
    @settings(max_examples=examples)
    @given(
        rows=st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=8),
        options=st.dictionaries(
            st.sampled_from(
                ["bins", "binning", "edges", "score_range", "groups", "per_group", "shrinkage", "missing"]
            ),
            ODD,
            max_size=2,
        ),
    )
    @example(rows=[("a", "1", "1")], options={"groups": np.ones((2, 7))})
    def check(rows, options):
        columns = {name: [row[i] for row in rows] for i, name in enumerate(("group", "score", "repaid"))}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                people = bisimulator.Population.from_frame(columns, **options)
        except CLEAN as error:
            check_clean(error)
            return
        assert abs(people.initial.sum(-1) - 1).max() < 1e-9
        assert ((people.repayment >= 0) & (people.repayment <= 1)).all()

    check()


@EXAMPLES
def test_a_file_of_people_is_sane_or_refused(examples, tmp_path):
    path = tmp_path / "people.csv"

    @settings(max_examples=examples)
    @given(
        content=st.one_of(
            st.binary(max_size=60),
            st.text(alphabet='group,score;repaid\n"0123ab\t', max_size=80).map(str.encode),
            st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=5).map(
                lambda rows: "\n".join(["group,score,repaid", *map(",".join, rows)]).encode(
                    "utf-8", "replace"
                )
            ),
        ),
        options=st.fixed_dictionaries(
            {},
            optional={
                "encoding": st.sampled_from([None, "utf-8", "latin-1", "no", 3, "rot13", "hex"]),
                "delimiter": st.sampled_from([None, ",", "ab", "", 3, "\n", '"', "\t"]),
            },
        ),
    )
    def check(content, options):
        path.write_bytes(content)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                people = bisimulator.Population.from_csv(path, **options)
        except CLEAN as error:
            check_clean(error)
            return
        assert np.isfinite(people.people).all()

    check()


@EXAMPLES
def test_settings_and_sweeps_are_parsed_or_refused(examples):
    texts = st.one_of(
        st.text(max_size=12),
        st.builds("{}={}".format, st.sampled_from(["population", "omega", ""]), st.text(max_size=8)),
        st.sampled_from(
            ["a=" + "[" * 3000, "a=" + "9" * 6000, "@", "@/", "@/dev/null", "a=1e999", "a=-" + "-" * 3000]
        ),
    )

    @settings(max_examples=examples)
    @given(
        typed=st.lists(texts, max_size=3),
        sweep=st.lists(st.text(alphabet="-.=solvermethd123[(", max_size=14)),
    )
    def check(typed, sweep):
        for parse, arguments in ((parse_settings, typed), (split_sweep, sweep)):
            try:
                parse(arguments)
            except CLEAN as error:
                check_clean(error)

    check()


METHODS = registry.names("method")
FIELDS = [
    "seeds",
    "steps",
    "episodes",
    "view",
    "goal",
    "greedy",
    "group_blind",
    "curve_every",
    "curve_episodes",
]


def options_of(config):
    return [f.name for f in dataclasses.fields(config)] if config is not None else []


@EXAMPLES
def test_a_configuration_can_be_stored_or_is_refused(examples):
    """What is accepted is stored and read back as it was, under the same name."""

    @settings(max_examples=examples)
    @given(data=st.data())
    def check(data):
        method = data.draw(st.sampled_from(METHODS))
        entry = registry.lookup("method", method)
        solver = SOLVERS[entry.solver][1]() if hasattr(entry, "solver") else None
        fields = {
            "config": options_of(entry.config),
            "solver": options_of(solver),
            "control": ["eta", "window"],
        }
        given = {
            kind: {name: data.draw(ODD) for name in data.draw(st.lists(st.sampled_from(names), max_size=2))}
            for kind, names in fields.items()
            if names and data.draw(st.booleans())
        }
        for name in data.draw(st.lists(st.sampled_from(FIELDS), max_size=2)):
            given[name] = data.draw(ODD)
        try:
            spec = make_spec("lending", method, **given)
        except CLEAN as error:
            check_clean(error)
            return
        again = spec_from_dict(json.loads(json.dumps(spec.to_dict())))
        assert again.name == spec.name
        assert len(set(spec.seeds)) == len(spec.seeds) >= 1

    check()


SIGNED = {"kappa"}  # an offset, which may also be in favour of rejecting
ODD_OPTIONS = [-1, True, "1", float("nan"), float("inf"), 1e39, None, [1, "a"]]


@pytest.mark.parametrize("method", METHODS)
def test_no_number_of_a_method_or_its_solver_is_unchecked(method):
    """A number must not be negative unless it is signed, and nothing else may stand for a number."""
    entry = registry.lookup("method", method)
    solver = SOLVERS[entry.solver][1]() if hasattr(entry, "solver") else None
    for config in (entry.config, solver):
        for field in dataclasses.fields(config) if config is not None else ():
            if not isinstance(getattr(config, field.name), bool | int | float):
                continue
            is_flag = isinstance(getattr(config, field.name), bool)
            for odd in ODD_OPTIONS[field.name in SIGNED :]:
                if not (is_flag and isinstance(odd, bool)):
                    with pytest.raises(CLEAN):
                        dataclasses.replace(config, **{field.name: odd})
