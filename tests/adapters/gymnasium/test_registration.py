"""The Gymnasium ids: one per environment, documented, and equal to what `bisimulator.make` makes."""

import re
import subprocess
import sys
import warnings
from importlib.metadata import entry_points
from pathlib import Path

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from bisimulator import registry
from bisimulator.adapters import BisimulatorVectorEnv, gymnasium_id, register_all
from tests.matrix import some
from tests.small import few_people

QUEUES = {gymnasium_id(name): name for name in registry.BUILT_IN["environment"]}
LIVES = {gymnasium_id(n, "life"): n for n in QUEUES.values() if registry.lookup("environment", n).life}
IDS = [*QUEUES, *LIVES]
# one of every file of an environment, and of every view; the others differ from them in their numbers only
DIFFERENT = [
    f"bisimulator/{name}-v0"
    for name in ("Lending", "LendingLife", "College", "CollegeThreshold", "Attention", "Infectious")
]
PAGE = Path(__file__).parents[3] / "docs" / "gymnasium.md"


def test_ids_follow_the_registry():
    assert set(IDS) >= {
        "bisimulator/Lending-v0",
        "bisimulator/LendingConscientiousness-v0",
        "bisimulator/Lending10Groups-v0",
        "bisimulator/LendingUs2003-v0",
        "bisimulator/College-v0",
        "bisimulator/LendingLife-v0",
        "bisimulator/LendingUs2003Life-v0",
    }
    assert "bisimulator/CollegeLife-v0" not in gymnasium.registry
    assert all(name in gymnasium.registry for name in IDS)


def test_the_page_lists_every_id_and_no_other():
    page = PAGE.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(bisimulator/\w+-v\d+)` \| `([\w-]+)` \|", page, re.MULTILINE))
    assert rows == QUEUES | LIVES
    assert set(re.findall(r"bisimulator/\w+-v\d+", page)) == set(IDS)


def test_registering_again_changes_nothing():
    before = dict(gymnasium.registry)
    register_all()
    assert gymnasium.registry == before


@pytest.fixture
def small_loans():
    registry.register("environment", "small-loans", registry.lookup("environment", "lending"))
    yield "bisimulator/SmallLoans-v0"
    registry.unregister("environment", "small-loans")
    for name in ("SmallLoans-v0", "SmallLoansLife-v0"):
        gymnasium.registry.pop(f"bisimulator/{name}", None)


def test_an_environment_of_the_users_gets_its_id_when_registering_again(small_loans):
    assert small_loans not in gymnasium.registry
    register_all()
    assert gymnasium.registry[small_loans].kwargs == {"scenario": "small-loans", "view": "queue"}
    assert gymnasium.make(small_loans, population=20).unwrapped.env.name == "small-loans"
    envs = gymnasium.make_vec(small_loans, num_envs=2, population=20)
    assert isinstance(envs, BisimulatorVectorEnv)
    assert envs.env.name == "small-loans"


def test_an_id_with_the_module_works_in_a_fresh_process():
    """With the module before the colon nothing needs to be imported first."""
    code = "import gymnasium; "
    code += "print(gymnasium.make('bisimulator:bisimulator/Lending-v0', population=200).unwrapped.env)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert "population=200" in done.stdout, done.stderr


def test_the_entry_point_names_the_registration():
    (point,) = [p for p in entry_points(group="gymnasium.envs") if p.value.startswith("bisimulator")]
    assert point.load() is register_all


def people_of(name):
    return few_people(gymnasium.registry[name].kwargs["scenario"], 20)


@pytest.mark.filterwarnings("ignore:.*symmetric and normalized:UserWarning")  # logits of attention: -3 to 3
@pytest.mark.parametrize("name", some(IDS, DIFFERENT))
def test_passes_gymnasiums_checker(name):
    check_env(gymnasium.make(name, **people_of(name)).unwrapped)


@pytest.mark.filterwarnings("ignore:.*symmetric and normalized:UserWarning")  # logits of attention: -3 to 3
@pytest.mark.parametrize("name", some(IDS, DIFFERENT))
def test_passes_stable_baselines3s_checker(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # when torch is imported; below, warnings are errors again
        checker = pytest.importorskip("stable_baselines3.common.env_checker")
    env = gymnasium.make(name, **people_of(name), render_mode="rgb_array").unwrapped
    checker.check_env(env, skip_render_check=False)


def test_params_are_keywords():
    env = gymnasium.make(IDS[0], population=70, horizon=5, groups=3).unwrapped
    assert (env.env.params.population, int(env.env.params.horizon), env.env.num_groups) == (70, 5, 3)
    vector = gymnasium.make_vec(IDS[0], num_envs=2, population=70, groups=3)
    assert vector.observation_space.shape == (2, 6)


def test_wrong_params_raise_the_librarys_errors():
    with pytest.raises(TypeError, match=r"no parameter 'populaton'. Did you mean 'population'"):
        gymnasium.make(IDS[0], populaton=3)
    with pytest.raises(ValueError, match="group_probs must sum to 1"):
        gymnasium.make_vec(IDS[0], num_envs=2, group_probs=(2, 3))
