"""Lists of reservations in an order, over HTTP."""

import base64

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.domain.reservation_order import RESERVATION_ORDERS
from libs.store.platform.database import Database
from libs.web.cursors import ORDERED_CURSOR_MAX
from tests.services.portal.reconcilers.test_assess_capacity_request import ask, assess

PATHS = {
    "name": ("name",),
    "owner": ("owner",),
    "phase": ("status", "phase"),
    "capacity_rru": ("spec", "capacity_rru"),
    **{name: ("status", name) for name in ("target_rru", "held_rru", "held_after_msb_loss_rru", "shortfall_rru")},
}


def value_of(row: dict, name: str) -> object:
    if name == "ready":
        return next(one["status"] for one in row["status"]["conditions"] if one["type"] == "Ready")
    for part in PATHS[name]:
        row = row[part]
    return row


@pytest.fixture
def filled(client: TestClient, database: Database) -> TestClient:
    """Six reservations, of which some have equal values."""
    for name, capacity in (("zoo", 1), ("Ant", 3), ("bee", 3), ("cat", 200)):
        assess(database, ask(client, name, rru={"hw-a": 1}, capacity_rru=capacity, survives_msb_loss=False))
    return client


@pytest.mark.parametrize("order", RESERVATION_ORDERS)
def test_each_order_is_that_of_the_field_that_it_names(filled: TestClient, order: str) -> None:
    rows = filled.get("/v1/reservations").json()["items"]
    assert len(rows) > 4
    seen, cursor = [], None
    while True:
        query = {"order": order, "limit": 2} | ({} if cursor is None else {"cursor": cursor})
        page = filled.get("/v1/reservations", params=query).json()
        seen += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
        assert len(page["items"]) == 2
    name = order.removeprefix("-")
    expected = sorted(rows, key=lambda row: value_of(row, name), reverse=order != name)
    assert [row["name"] for row in seen] == [row["name"] for row in expected]


def test_an_unknown_order_is_refused_with_the_known_ones(filled: TestClient) -> None:
    for odd in ("held", "--name", "-", "created_at", "x" * 60):
        answer = filled.get("/v1/reservations", params={"order": odd})
        assert answer.status_code == 422, odd
        [error] = answer.json()["errors"]
        assert (error["field"], error["location"]) == ("order", "query")
    answer = filled.get("/v1/reservations", params={"order": "held"})
    assert "held_rru, held_after_msb_loss_rru" in answer.json()["detail"]


def test_a_cursor_belongs_to_one_order(filled: TestClient) -> None:
    def get(**query: object) -> tuple[int, str]:
        answer = filled.get("/v1/reservations", params=query)
        return answer.status_code, answer.json().get("detail", "")

    cursors = {}
    for order in ("", "name", "-name", "held_rru"):
        given = {"order": order} if order else {}
        cursors[order] = filled.get("/v1/reservations", params=given | {"limit": 1}).json()["next_cursor"]
    for order in cursors:
        for other, cursor in cursors.items():
            status, detail = get(cursor=cursor, **({"order": order} if order else {}))
            assert status == (200 if order == other else 422), (order, other)
            if order != other:
                assert f"order={other}" in detail or f"order={order}" in detail
    _, detail = get(cursor=cursors["name"], order="-name")
    assert detail == (
        "cursor: is a cursor of the list with order=name, and not with order=-name: leave it out to start again, or "
        "pass next_cursor unchanged"
    )


def cursor_of(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("order", "text"),
    [
        ("held_rru", "reservations:1:held_rru:nan"),
        ("held_rru", "reservations:1:held_rru:1e999"),
        ("held_rru", "reservations:1:held_rru:"),
        ("held_rru", "reservations:1:held_rru:web"),
        ("name", "reservations:1:name:a\0b"),
        ("name", f"reservations:{10**19}:name:a"),
        ("name", "servers:1:name:a"),
        ("name", "reservations:name:a"),
    ],
)
def test_a_made_up_cursor_is_refused(filled: TestClient, order: str, text: str) -> None:
    answer = filled.get("/v1/reservations", params={"order": order, "cursor": cursor_of(text)})
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "bad_cursor")


def test_the_longest_name_fits_into_a_cursor(filled: TestClient) -> None:
    cursor = cursor_of(f"reservations:{2**63 - 1}:-name:{'𝕏' * 200}")
    assert len(cursor) <= ORDERED_CURSOR_MAX
    assert filled.get("/v1/reservations", params={"order": "-name", "cursor": cursor}).status_code == 200


def test_a_page_takes_as_many_statements_however_long_it_is(filled: TestClient, database: Database) -> None:
    """A request that waits needs none of its own to say how much of it was granted."""
    assess(database, ask(filled, "dog", rru={"hw-a": 1}, capacity_rru=22, survives_msb_loss=False))
    statements: list[str] = []
    sa.event.listen(database._engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    counts = []
    for limit in (1, 100):
        statements.clear()
        rows = filled.get("/v1/reservations", params={"limit": limit, "order": "-capacity_rru"}).json()["items"]
        assert rows[0]["status"]["granted_rru"] < rows[0]["spec"]["capacity_rru"]
        counts.append((len(rows) > 1, len(statements)))
    assert counts == [(False, counts[0][1]), (True, counts[0][1])]
