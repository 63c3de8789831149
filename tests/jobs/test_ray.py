"""Jobs on Ray: the same results as in this process, also when a node is lost in the middle."""

import sys
from collections import Counter
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import pytest

from bisimulator.jobs import _ray as cluster
from bisimulator.jobs.executors import run_locally
from bisimulator.jobs.parts import parts_of
from bisimulator.jobs.run import run
from bisimulator.jobs.spec import make_spec
from bisimulator.solvers.trainer import Progress
from tests.jobs.test_run import assert_same
from tests.small import SETTINGS, SOLVER_OPTIONS


def jobs(seeds, count):
    """Jobs with so many seeds each."""
    options = {
        "steps": 800,
        "episodes": 2,
        "curve_every": 400,
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
    assert fake.tasks == cluster._RETRIES + 1
    assert "died 6 times" in told[-1].message


@pytest.fixture
def two_nodes(monkeypatch):
    """A cluster of two nodes with one core each, on this machine."""
    ray = pytest.importorskip("ray", reason="needs Ray: pip install 'bisimulator[cluster]'")
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    second = nodes.add_node(num_cpus=1)
    ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
    yield nodes, second
    ray.shutdown()
    nodes.shutdown()


def progress(update, updates, speed):
    return Progress(update, updates, 10 * update, speed, float(update), (0.5, 1.0), {"loss": 1.0})


def test_a_job_is_as_far_as_its_parts_together():
    parts = [progress(4, 4, 7.0), progress(2, 4, 5.0)]
    whole = cluster.together(parts, 3)  # the third has not begun
    assert (whole.update, whole.updates, whole.steps) == (2, 4, 20)
    assert whole.steps_per_second == 5.0  # one of them is done
    assert (whole.episode_return, whole.recall, whole.loss) == (3.0, (0.5, 1.0), 1.0)


@pytest.mark.long
@pytest.mark.filterwarnings(
    "ignore:os.fork"
)  # Ray starts its processes with one; nothing of JAX runs between it and exec
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # Ray's own processes and files
def test_a_node_that_is_lost_in_the_middle_costs_no_result(tmp_path, two_nodes):
    """A job of six seeds on two nodes, and others behind it: bit for bit what one machine makes of them."""
    nodes, second = two_nodes
    rule = make_spec("lending", "accept-all", seeds=2, episodes=2, settings=SETTINGS)
    specs, kinds = [*jobs(6, 1), *jobs(2, 2), rule], Counter()

    def tell(event):
        kinds[event.kind] += 1
        if kinds["progress"] == 3 and second in nodes.worker_nodes:  # both nodes are at work
            nodes.remove_node(second, allow_graceful=False)

    results = cluster.run_on_ray(specs, tmp_path / "cluster", tell)
    assert second not in nodes.worker_nodes
    assert kinds["finished"] == len(specs)
    assert kinds["retried"] >= 1
    assert kinds["failed"] == 0
    for found, expected in zip(results, run_locally(specs, tmp_path / "here", lambda e: None), strict=True):
        assert_same(found, expected)
        for name in (
            "outcome.npz",
            "learned.npz",
            "episodes.csv",
            *(("weights.npz",) if found.spec.solver else ()),
        ):
            one, other = (tmp_path / place / found.spec.name / name for place in ("cluster", "here"))
            assert one.read_bytes() == other.read_bytes()
    assert not list((tmp_path / "cluster").rglob("parts"))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:os.fork")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_job_goes_on_with_the_parts_that_are_there(tmp_path, two_nodes, monkeypatch):
    """Whoever gives the jobs out may be stopped as well: what has come back is not done again."""
    (spec,) = jobs(3, 1)
    for part in parts_of(0, spec, tmp_path)[:2]:
        run(part.spec, part.out)
    handed_out = []
    submit = cluster._Foreman._submit
    monkeypatch.setattr(
        cluster._Foreman, "_submit", lambda self, part: (handed_out.append(part.index), submit(self, part))
    )
    (result,) = cluster.run_on_ray([spec], tmp_path, lambda event: None)
    assert handed_out == [2]
    assert_same(result, run_locally([spec], tmp_path / "here", lambda e: None)[0])
