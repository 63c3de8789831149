"""The container: its file is well formed, and it builds and runs where docker exists."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
KNOWN = {"FROM", "RUN", "USER", "WORKDIR", "COPY", "ENTRYPOINT", "CMD"}


@pytest.fixture(scope="module")
def instructions():
    """(instruction, arguments) with continued lines joined and comments left out."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [tuple(line.split(maxsplit=1)) for line in lines]


def test_every_instruction_is_known_and_the_first_names_the_image(instructions):
    assert {name for name, _ in instructions} <= KNOWN
    assert instructions[0][0] == "FROM"
    assert re.fullmatch(r"python:3\.\d+-slim", instructions[0][1])


def test_what_is_copied_exists_and_is_not_ignored(instructions):
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for name, arguments in instructions:
        if name == "COPY":
            *sources, _ = [word for word in arguments.split() if not word.startswith("--")]
            assert all((ROOT / source).exists() and f"!{source}" in allowed for source in sources)


def test_it_does_not_run_as_root_and_starts_the_command_line(instructions):
    names = [name for name, _ in instructions]
    user = dict(instructions)["USER"]
    assert user != "root"
    assert f"useradd --create-home {user}" in next(text for name, text in instructions if name == "RUN")
    assert names.index("USER") < names.index("COPY")
    assert dict(instructions)["ENTRYPOINT"] == '[".venv/bin/bisimulator"]'


@pytest.mark.long
@pytest.mark.skipif(shutil.which("docker") is None, reason="docker is not installed")
def test_it_builds_and_lists_the_environments():
    subprocess.run(["docker", "build", "--quiet", "--tag", "bisimulator-test", str(ROOT)], check=True)
    command = ["docker", "run", "--rm", "bisimulator-test", "list"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "lending-uci-default" in listed
