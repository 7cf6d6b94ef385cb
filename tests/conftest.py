"""Provide fixtures for all tests."""

from pathlib import Path

import hypothesis
import pytest

# The time of an example depends on other users of the machine.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

pytest_plugins = [
    "tests.fixtures.database",
    "tests.fixtures.documents",
    "tests.fixtures.golden",
    "tests.fixtures.scheduling",
]

SHARED = Path(__file__).parents[2] / "shared"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if SHARED.is_dir():
        return
    for item in items:
        if item.get_closest_marker("shared"):
            item.add_marker(pytest.mark.skip(reason="needs the instances in ../shared"))


@pytest.fixture
def shared() -> Path:
    """Instances and judges beside the repository, for tests marked shared."""
    return SHARED
