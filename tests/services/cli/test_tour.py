"""Run docs/tour.md line by line against a platform of its own: every command does as the page says."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.standalone.processes import Command, Process

ROOT = Path(__file__).parents[3]


def told() -> list[tuple[str, list[str]]]:
    """Return every command of the page, with the page's output."""
    found: list[tuple[str, list[str]]] = []
    for line in (ROOT / "docs" / "tour.md").read_text().splitlines():
        if line.startswith("    $ "):
            found.append((line.removeprefix("    $ "), []))
        elif line.startswith("    "):
            found[-1][1].append(line.removeprefix("    "))
    return found


def words(text: str) -> str:
    """Return a line without its numbers, plurals and line breaks, which depend on the run and the terminal."""
    return re.sub(r"s\b", "", re.sub(r"[\d.,]+", "#", " ".join(text.split())))


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    state = tmp_path_factory.mktemp("state")
    env = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
    env |= {"PLIMSOLL_STATE_DIR": str(state), "PLIMSOLL_SIMULATED_DELAY": "0"}
    env["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    ready = (state / "endpoint.json").exists
    up = Command(name="up", argv=[sys.executable, "-m", "services.cli.main", "up"], env=env, ready=ready, cwd=ROOT)
    process = Process(up, state)
    process.wait_ready(300)
    yield env
    process.stop(60)


def test_every_line_of_the_tour_does_what_the_page_says(env: dict[str, str], tmp_path: Path) -> None:
    assert len(told()) > 20
    for command, answer in told():
        done = subprocess.run(
            ["bash", "-c", command],
            env=env,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        said = done.stdout + done.stderr
        fails = any(line.startswith("error:") for line in answer)
        assert bool(done.returncode) == fails, f"{shlex.quote(command)}: {said}"
        if answer:
            first = words(said)[: len(words(answer[0]))]
            assert first == words(answer[0]), f"{command}: {said}"
