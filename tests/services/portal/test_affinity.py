"""Affinity shares refer to the capacity, but a reservation that survives an MSB loss holds more."""

import pytest
from fastapi.testclient import TestClient

from libs.store.platform.database import Database
from tests.services.portal.conftest import WEB, create
from tests.services.portal.reconcilers.test_assess_capacity_request import assess


def status(client: TestClient, database: Database, **spec: object) -> dict[str, object]:
    made = client.post("/v1/capacity-requests", json=create(spec=WEB | {"capacity_rru": 10} | spec))
    assert made.status_code == 201, made.text
    assess(database, made.json()["capacity_request_id"])
    return client.get(made.headers["Location"]).json()["status"]


@pytest.mark.parametrize(
    ("affinity", "survives"),
    [({"dc-00": 0.6, "dc-01": 0.6}, False), ({"dc-00": 1.2}, False), ({"dc-00": 0.7, "dc-01": 0.7}, True)],
)
def test_shares_may_add_up_to_more_than_1(client: TestClient, database: Database, affinity, survives: bool) -> None:
    found = status(client, database, affinity=affinity, survives_msb_loss=survives)
    assert (found["phase"], found["reason"]) == ("granted", "Granted"), found


def test_shares_that_leave_no_room_for_the_buffer_are_rejected(client: TestClient, database: Database) -> None:
    found = status(client, database, affinity={"dc-00": 0.5, "dc-01": 0.5})
    assert (found["phase"], found["reason"]) == ("rejected", "BeyondAffinity")
    assert "Either multiply each share by 1.334, or leave dc-00 or dc-01 without a share." in found["message"]
