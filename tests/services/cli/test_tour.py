"""Run the pages of commands line by line against a platform: every command does as the page says."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders.command_line import running_platform

ROOT = Path(__file__).parents[3]


def told(page: str) -> list[tuple[str, list[str]]]:
    """Return every command of a page, with the page's output."""
    found: list[tuple[str, list[str]]] = []
    for line in (ROOT / "docs" / page).read_text().splitlines():
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
    with running_platform(tmp_path_factory.mktemp("state"), PLIMSOLL_SIMULATED_DELAY="0") as env:
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        yield {name: value for name, value in env.items() if name != "COLUMNS"} | {"PATH": path}


@pytest.mark.parametrize(("page", "commands"), [("tour.md", 20), ("workloads.md", 8)])
def test_every_line_of_a_page_does_what_the_page_says(
    env: dict[str, str], tmp_path: Path, page: str, commands: int
) -> None:
    assert len(told(page)) > commands
    for command, answer in told(page):
        done = subprocess.run(
            ["bash", "-c", command],
            env=env,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout + done.stderr
        fails = any(line.startswith("error:") for line in answer)
        assert bool(done.returncode) == fails, f"{shlex.quote(command)}: {said}"
        if answer:
            first = words(said)[: len(words(answer[0]))]
            assert first == words(answer[0]), f"{command}: {said}"
