"""Ask for guests, and read what became of them."""

from collections.abc import Callable

import httpx
from fastapi.testclient import TestClient

from tests.services.portal.conftest import create

HOST = {"capacity_rru": 8, "rru": {"hw-a": 1, "hw-b": 2}}


def guest(name: str = "cache", of: str = "web", share: float | None = 0.25, **spec: object) -> dict:
    asked = {"capacity_rru": 4, "rru": {"hw-a": 4}, "guest_of": of, "guest_share": share, **spec}
    return create(name, spec={key: value for key, value in asked.items() if value is not None})


def decided(client: TestClient, assess_all: Callable[[], None], body: dict) -> dict:
    asked = client.post("/v1/capacity-requests", json=body)
    assert asked.status_code == 201, asked.text
    assess_all()
    return client.get(asked.headers["location"]).json()["status"]


def row_of(client: TestClient, name: str) -> dict:
    [found] = client.get("/v1/reservations", params={"region": "west", "name": name}).json()["items"]
    return client.get(f"/v1/reservations/{found['reservation_id']}").json()


def granted(client: TestClient, assess_all: Callable[[], None], body: dict) -> dict:
    status = decided(client, assess_all, body)
    assert status["phase"] == "granted", status
    return row_of(client, body["reservation"])


def resize(client: TestClient, name: str, spec: dict) -> httpx.Response:
    row = row_of(client, name)
    url = f"/v1/reservations/{row['reservation_id']}"
    return client.patch(url, json={"spec": spec}, headers={"If-Match": f'"{row["generation"]}"'})
