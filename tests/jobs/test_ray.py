"""Jobs on Ray: the same results as in this process, also when a node is lost in the middle."""

import sys
from collections import Counter

import pytest

from bisimulator.jobs import _ray as cluster
from bisimulator.jobs.executors import run_locally
from bisimulator.jobs.spec import make_spec
from tests.jobs.test_run import assert_same
from tests.small import SETTINGS, SOLVER_OPTIONS


def jobs(count):
    options = {
        "steps": 800,
        "episodes": 2,
        "curve_every": 400,
        "settings": SETTINGS,
        "solver": SOLVER_OPTIONS,
    }
    return [make_spec("lending", "ppo", seeds=[seed, seed + 1], **options) for seed in range(count)]


def test_without_ray_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=r"needs Ray; install it with: pip install 'bisimulator\[cluster\]'"):
        cluster.run_on_ray(jobs(1), tmp_path, lambda event: None)


def test_finished_jobs_need_no_cluster(tmp_path, monkeypatch):
    specs = [make_spec("lending", "accept-all", seeds=2, episodes=2, settings=SETTINGS)]
    expected, told = run_locally(specs, tmp_path, lambda event: None), []
    monkeypatch.setitem(sys.modules, "ray", None)
    assert_same(cluster.run_on_ray(specs, tmp_path, told.append)[0], expected[0])
    assert [event.kind for event in told] == ["kept"]


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


@pytest.mark.long
@pytest.mark.filterwarnings(
    "ignore:os.fork"
)  # Ray starts its processes with one; nothing of JAX runs between it and exec
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # Ray's own processes and files
def test_a_node_that_is_lost_in_the_middle_costs_no_result(tmp_path, two_nodes):
    nodes, second = two_nodes
    specs, kinds, at_work = jobs(4), Counter(), set()

    def tell(event):
        kinds[event.kind] += 1
        at_work.add(event.job)
        if len(at_work) == 2 and second in nodes.worker_nodes:  # one job on each node
            nodes.remove_node(second, allow_graceful=False)

    results = cluster.run_on_ray(specs, tmp_path / "cluster", tell)
    assert second not in nodes.worker_nodes
    assert kinds["finished"] == 4
    assert kinds["retried"] >= 1
    assert kinds["failed"] == 0
    for found, expected in zip(results, run_locally(specs, tmp_path / "here", lambda e: None), strict=True):
        assert_same(found, expected)
