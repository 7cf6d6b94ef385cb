"""A guest whose share leaves too little for its host hears which share would do."""

from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient

from tests.services.portal.guest_requests import decided, guest


@pytest.mark.usefixtures("web")
@pytest.mark.parametrize("capacity", [1, 1000])
def test_a_share_that_is_too_large_is_answered_with_one_that_would_do(
    client: TestClient, assess_all: Callable[[], None], capacity: float
) -> None:
    status = decided(client, assess_all, guest(share=0.95, capacity_rru=capacity))
    assert status["phase"] == "rejected", status
    share = status["numbers"]["most_guest_share"]
    assert f"Ask for a guest_share of at most {share:g}" in status["message"]
    larger = decided(client, assess_all, guest("larger", share=round(share + 0.01, 2), capacity_rru=0.1))
    assert larger["phase"] == "rejected"
    if capacity > 1:  # the share does, and what the guest has of it is too little
        capacity = status["numbers"]["most_rru_of_cache"]
        assert f"and for at most {capacity:.6g} RRU with it" in status["message"]
    offered = decided(client, assess_all, guest("offered", share=share, capacity_rru=capacity * 0.99))
    assert offered["phase"] in ("granted", "degraded"), "others may hold servers now, so it may have to wait"
