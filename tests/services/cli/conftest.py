"""Provide a platform of its own, and commands against it."""

from collections.abc import Iterator

import pytest

from tests.builders.command_line import Plimsoll, running_platform


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment for commands. tests/fixtures/scheduling.py keeps the tests that share the platform together."""
    settings = {"PLIMSOLL_SIMULATED_DELAY": "0", "PLIMSOLL_PLAN_WINDOW_DAYS": "2", "PLIMSOLL_TRACE_WINDOW_S": "0.1"}
    with running_platform(tmp_path_factory.mktemp("state"), **settings) as env:
        yield env


@pytest.fixture(scope="session")
def plimsoll(platform: dict[str, str]) -> Iterator[Plimsoll]:
    commands = Plimsoll(platform)
    yield commands
    commands.close()
