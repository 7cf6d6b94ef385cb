"""Provide one platform for all questions, and ways to ask it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders.pages_world import pages_world
from tests.fixtures.database import _database
from tests.questions.ask import Ask
from tests.questions.north import add_north


@pytest.fixture(scope="package")
def ask(database_server: tuple[str, str], template_database: str) -> Iterator[Ask]:
    """The platform of `pages_world`, whose region west is full, with the region north, which has room. An admin asks.
    Tests that change it leave the names of others alone.
    """
    home = Path(tempfile.mkdtemp(prefix="plimsoll-questions-"))
    for url in _database(database_server, template_database):
        with pages_world(url, home) as world:
            asked = Ask(world, home)
            add_north(asked)
            yield asked
            asked.close()
    shutil.rmtree(home)
