"""What all tests share: instances and judges beside the repository are optional."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[1].parent / "shared"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not SHARED.is_dir():
        for item in items:
            if item.get_closest_marker("shared"):
                item.add_marker(pytest.mark.skip(reason=f"{SHARED} is absent"))


@pytest.fixture
def shared() -> Path:
    return SHARED
