"""What is pinned: all that the package needs, in versions that it allows, as they are installed, and with hashes."""

import re
import tomllib
from importlib.metadata import requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name as canonical

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
BUILD, RUNTIME = PROJECT["build-system"]["requires"], PROJECT["project"]["dependencies"]


def pins(name):
    """Package -> version, of a file of requirements."""
    found = re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / name).read_text(), re.MULTILINE)
    return {canonical(package): pinned for package, pinned in found}


def needed(requirements):
    """All requirements that hold here, direct and indirect."""
    waiting, seen = [Requirement(text) for text in requirements], {}
    while waiting:
        requirement = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        if str(requirement) not in seen:
            seen[str(requirement)] = requirement
            waiting += map(Requirement, requires(requirement.name) or ())
    return seen.values()


def test_everything_of_the_demo_is_pinned_as_it_is_installed():
    pinned, hashed = pins("constraints.txt"), pins("requirements.txt")
    for requirement in needed([*BUILD, *RUNTIME]):
        name = canonical(requirement.name)
        assert pinned[name] == hashed[name] == version(name)
        assert pinned[name] in requirement.specifier


def test_direct_requirements_of_every_extra_are_pinned_in_a_version_that_is_allowed():
    pinned = pins("constraints.txt")
    for extra in PROJECT["project"]["optional-dependencies"].values():
        for requirement in map(Requirement, extra):
            assert pinned[canonical(requirement.name)] in requirement.specifier


def test_every_requirement_of_the_demo_has_a_hash():
    entries = re.split(r"\n(?=\w)", (ROOT / "requirements.txt").read_text())[1:]
    assert len(entries) == len(pins("requirements.txt"))
    for entry in entries:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), entry
