"""A host of guests."""

from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient

from tests.services.portal.conftest import create
from tests.services.portal.guest_requests import HOST, granted


@pytest.fixture
def web(client: TestClient, assess_all: Callable[[], None]) -> dict:
    return granted(client, assess_all, create(spec=HOST))
