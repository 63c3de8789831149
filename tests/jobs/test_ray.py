"""Jobs on Ray: the same results as in this process, also when a node is lost in the middle."""

import json
import subprocess
import sys
from collections import Counter
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import jax
import pytest

from bisimulator.jobs import _ray as cluster
from bisimulator.jobs.dispatcher import RETRIES
from bisimulator.jobs.executors import run_locally
from bisimulator.jobs.parts import parts_of
from bisimulator.jobs.run import run
from bisimulator.jobs.spec import make_spec
from bisimulator.jobs.store import load
from tests.jobs.test_run import assert_same
from tests.small import FEW, SETTINGS, SOLVER_OPTIONS, on_command_line


def jobs(seeds, count, steps=800):
    """Jobs with so many seeds each."""
    options = {
        "steps": steps,
        "episodes": 2,
        "curve_every": steps // 2,
        "settings": SETTINGS,
        "solver": SOLVER_OPTIONS,
    }
    return [
        make_spec("lending", "ppo", seeds=range(first, first + seeds), **options) for first in range(count)
    ]


def test_without_ray_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=r"needs Ray; install it with: pip install 'bisimulator\[cluster\]'"):
        cluster.run_on_ray(jobs(2, 1), tmp_path, lambda event: None)


def test_finished_jobs_need_no_cluster(tmp_path, monkeypatch):
    specs = [make_spec("lending", "accept-all", seeds=2, episodes=2, settings=SETTINGS)]
    expected, told = run_locally(specs, tmp_path, lambda event: None), []
    monkeypatch.setitem(sys.modules, "ray", None)
    assert_same(cluster.run_on_ray(specs, tmp_path, told.append)[0], expected[0])
    assert [event.kind for event in told] == ["kept"]


class Task:
    def __init__(self, run):
        self.run = run


class FakeRay:
    """What the executor uses of Ray, in this process: tasks run when they are waited for, and workers die as told."""

    class exceptions:
        class RayError(Exception):
            pass

        class RayTaskError(RayError):
            def __init__(self, cause):
                super().__init__(str(cause))
                self.cause = cause

    def __init__(self, deaths=()):
        self.deaths, self.tasks = (
            list(deaths),
            0,
        )  # which tasks, in the order in which they run, lose their worker
        self.util = SimpleNamespace(
            scheduling_strategies=SimpleNamespace(NodeAffinitySchedulingStrategy=lambda *a, **k: None)
        )

    def get_runtime_context(self):
        return SimpleNamespace(get_node_id=lambda: "here")

    def remote(self, thing):
        if isinstance(thing, type):
            return SimpleNamespace(options=lambda **k: SimpleNamespace(remote=lambda: self._actor(thing())))
        return SimpleNamespace(options=lambda **k: SimpleNamespace(remote=partial(self._task, thing)))

    def _actor(self, actor):
        def method(name):
            return SimpleNamespace(remote=lambda *args: partial(getattr(actor, name), *args)())

        return SimpleNamespace(write=method("write"), read=method("read"))

    def _task(self, function, *args):
        return Task(partial(function, *args))

    def wait(self, tasks, num_returns, timeout):
        return tasks[:1], tasks[1:]

    def cancel(self, task, force):
        pass  # it has not begun

    def get(self, task):
        if not isinstance(task, Task):
            return task  # what an actor returned
        self.tasks += 1
        if self.tasks in self.deaths:
            raise self.exceptions.RayError("lost")
        try:
            return task.run()
        except ValueError as error:
            raise self.exceptions.RayTaskError(error) from None


def with_fake(monkeypatch, deaths=()):
    fake = FakeRay(deaths)
    monkeypatch.setattr(cluster, "_cluster", lambda address: nullcontext(fake))
    return fake


@pytest.mark.parametrize("deaths", [(), (1, 3)])
def test_parts_are_joined_also_if_workers_die(tmp_path, monkeypatch, deaths):
    fake, kinds = with_fake(monkeypatch, deaths), []
    specs = [*jobs(3, 1), make_spec("lending", "accept-all", seeds=2, episodes=2, settings=SETTINGS)]
    results = cluster.run_on_ray(specs, tmp_path / "cluster", lambda event: kinds.append(event.kind))
    assert fake.tasks == 3 + 1 + len(deaths)  # one per seed, one for the rule, and the lost ones again
    assert Counter(kinds)["finished"] == 2
    assert Counter(kinds)["retried"] == len(deaths)
    for found, expected in zip(results, run_locally(specs, tmp_path / "here", lambda e: None), strict=True):
        assert_same(found, expected)
    assert not list((tmp_path / "cluster").rglob("parts"))


def test_what_has_come_back_is_not_done_again(tmp_path, monkeypatch):
    (spec,) = jobs(3, 1)
    for part in parts_of(0, spec, tmp_path)[:2]:
        run(part.spec, part.out)
    fake = with_fake(monkeypatch)
    cluster.run_on_ray([spec], tmp_path, lambda event: None)
    assert fake.tasks == 1


def test_a_part_that_cannot_be_done_ends_its_job_and_no_other(tmp_path, monkeypatch):
    specs = [*jobs(2, 1), make_spec("lending", "accept-all", seeds=2, episodes=2, settings=SETTINGS)]

    def fail(spec, *_):
        if spec.solver is not None:
            raise ValueError("no such thing")
        return run(spec, *_)

    monkeypatch.setattr(cluster, "run", fail)
    with_fake(monkeypatch)
    told = []
    results = cluster.run_on_ray(specs, tmp_path, told.append)
    assert results[0] is None
    assert results[1] is not None
    assert [(e.job, e.message) for e in told if e.kind == "failed"] == [(0, "no such thing")]


def test_a_worker_that_always_dies_is_given_up(tmp_path, monkeypatch):
    fake = with_fake(monkeypatch, deaths=range(100))
    told = []
    assert cluster.run_on_ray(jobs(1, 1), tmp_path, told.append) == [None]
    assert fake.tasks == RETRIES + 1
    assert "died 6 times" in told[-1].message


@pytest.fixture
def two_nodes(monkeypatch):
    """A cluster of two nodes with one core each, on this machine."""
    ray = pytest.importorskip("ray", reason="needs Ray: pip install 'bisimulator[cluster]'")
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    # programs that are optimised otherwise round otherwise: the nodes compile as this process does (conftest.py)
    monkeypatch.setenv(
        "JAX_DISABLE_MOST_OPTIMIZATIONS", str(jax.config.read("jax_disable_most_optimizations"))
    )
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    second = nodes.add_node(num_cpus=1)
    ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
    yield nodes, second
    ray.shutdown()
    nodes.shutdown()


RAY_WARNINGS = (
    pytest.mark.filterwarnings("ignore:os.fork"),  # Ray's; nothing of JAX runs between its fork and exec
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # its own processes and files
)


def with_cluster(test):
    """A long test that uses Ray itself."""
    for mark in (pytest.mark.long, *RAY_WARNINGS):
        test = mark(test)
    return test


def workers(node):
    """The processes of a node that work on a part."""
    import psutil  # comes with Ray

    raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
    return [child for child in raylet.children() if "work_on" in " ".join(child.cmdline())]


def files_of(folder):
    """What is stored about a job, but for how long it took."""
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if path.name not in ("timing.json", "done")
    }


@with_cluster
@pytest.mark.parametrize("lost", ["a worker", "a node"])
def test_what_dies_in_the_middle_loses_one_part(tmp_path, two_nodes, monkeypatch, lost):
    """A job of six seeds on two nodes, and others behind it: bit for bit what one machine makes of them."""
    nodes, second = two_nodes
    rule = make_spec("lending", "accept-all", seeds=2, episodes=2, settings=SETTINGS)
    specs, out = [*jobs(6, 1, steps=20_000), *jobs(2, 2, steps=20_000), rule], tmp_path / "cluster"
    told, killed, handed_out, parts_back = [], [], [], set()
    submit = cluster._RayWorkers.submit
    monkeypatch.setattr(
        cluster._RayWorkers, "submit", lambda self, part: (handed_out.append(part), submit(self, part))
    )

    def tell(event):
        told.append(event.kind)
        parts_back.add(len(list((out / specs[0].name).glob("parts/**/done"))))
        if event.kind == "finished":  # it is stored before it is told
            assert_same(load(out / specs[event.job].name, specs[event.job]), event.result)
        elif event.kind == "progress" and not killed and (busy := workers(second)):
            killed.extend(busy)
            busy[0].kill() if lost == "a worker" else nodes.remove_node(second, allow_graceful=False)

    results = cluster.run_on_ray(specs, out, tell)
    kinds = Counter(told)
    assert (kinds["finished"], kinds["failed"], kinds["retried"]) == (len(specs), 0, 1)
    assert len(handed_out) == 6 + 2 + 2 + 1 + 1  # only the part that was lost is done again
    assert parts_back & {1, 2, 3, 4, 5}  # seeds come back one by one
    assert "progress" in told[told.index("finished") :]  # and jobs while others run
    run_locally(specs, tmp_path / "here", lambda e: None)
    for spec, found in zip(specs, results, strict=True):
        assert found.spec == spec
        assert files_of(out / spec.name) == files_of(tmp_path / "here" / spec.name)
    assert not list(out.rglob("parts"))


@with_cluster
def test_a_job_goes_on_with_the_parts_that_are_there(tmp_path, two_nodes, monkeypatch):
    """Whoever gives the jobs out may be stopped as well: what has come back is not done again."""
    (spec,) = jobs(3, 1)
    for part in parts_of(0, spec, tmp_path)[:2]:
        run(part.spec, part.out)
    handed_out = []
    submit = cluster._RayWorkers.submit
    monkeypatch.setattr(
        cluster._RayWorkers, "submit", lambda self, part: (handed_out.append(part.index), submit(self, part))
    )
    (result,) = cluster.run_on_ray([spec], tmp_path, lambda event: None)
    assert handed_out == [2]
    assert_same(result, run_locally([spec], tmp_path / "here", lambda e: None)[0])


@with_cluster
def test_a_sweep_over_goals_and_options_is_one_command(tmp_path, two_nodes):
    """Each combination is a job, told as soon as it is done, with the files of a run without a cluster."""
    nodes, _ = two_nodes
    options = on_command_line(
        SOLVER_OPTIONS | {"learning_rate": (1e-3, 1e-2), "hidden": ("(4,)",)}, "solver."
    )
    command = [
        sys.executable,
        "-m",
        "bisimulator",
        "compare",
        "lending",
        "--methods",
        "ppo",
        "--steps",
        "4000",
    ]
    command += [*FEW, "--sweep-goal", "min-recall=0.7:0.9:0.2", *options, "--json"]

    def run_command(out, *executor):
        told = subprocess.run([*command, "--out", out, *executor], capture_output=True, text=True, check=True)
        return [json.loads(line) for line in told.stdout.splitlines()]

    told = run_command(tmp_path / "cluster", "--executor", "ray", "--ray-address", nodes.address)
    run_command(tmp_path / "here")
    finished = [event for event in told if event["event"] == "finished"]
    assert len({event["label"] for event in finished}) == 4
    assert told.index(finished[0]) < max(i for i, event in enumerate(told) if event["event"] == "progress")
    for event in finished:
        one, other = (files_of(tmp_path / place / event["folder"]) for place in ("cluster", "here"))
        assert one == other
        assert "weights.npz" in one
