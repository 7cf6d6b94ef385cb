"""The loss of a domain of a further kind is simulated and estimated, alone and with other changes."""

from collections import Counter
from collections.abc import Callable

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.domain.reservation import ReservationSpec
from libs.store.platform.database import Database
from tests.builders.region import region_image
from tests.builders.stored import stored
from tests.services.solver.what_ifs import dump

SERVERS = [f"server-{s:02d}" for s in range(16)]
HOLDS = SERVERS[:10]
BLOCK = {name: f"block-{s % 3}" for s, name in enumerate(SERVERS) if s != 4}
MSB = {name: f"msb-0{s // 4}" for s, name in enumerate(SERVERS)}


@pytest.fixture
def east(database: Database) -> None:
    """Store four MSBs of four servers, which three network blocks cross. One server has no block."""
    spec = ReservationSpec(
        capacity_rru=7, rru={"hw-a": 1.0}, survives_msb_loss=False, survives_loss_of=("network_block",)
    )
    image = region_image(
        "east",
        msbs=4,
        reservations={"web": spec},
        current=dict.fromkeys(HOLDS, "web"),
        domains={"network_block": BLOCK, "power_row": {SERVERS[0]: "row-0"}},
    )
    stored(database, image)


def short_rru(up: list[str]) -> int:
    """Return what web lacks if these servers are up: it is to survive the loss of one block more."""
    of = Counter(BLOCK.get(name) for name in HOLDS if name in up)
    return max(0, 7 - (of.total() - max(of.values(), default=0)))


@pytest.mark.parametrize(
    ("lose", "gone"),
    [
        ([], ()),
        ([("network_block", "block-0")], [name for name in SERVERS if BLOCK.get(name) == "block-0"]),
        (
            [("network_block", "block-1"), ("msb", "msb-02"), ("power_row", "row-0")],
            [name for name in SERVERS if BLOCK.get(name) == "block-1" or MSB[name] == "msb-02" or name == SERVERS[0]],
        ),
    ],
)
def test_what_is_in_the_domain_is_down(
    east: None,
    client: TestClient,
    database: Database,
    simulate: Callable[..., dict],
    lose: list[tuple[str, str]],
    gone: list[str],
) -> None:
    before = dump(database)
    asked = {"region": "east", "lose": [{"scope": kind, "name": name} for kind, name in lose], "demand": [{"scale": 1}]}
    report = simulate(**asked)["report"]
    (row,) = report["reservations"]
    up = [name for name in SERVERS if name not in gone]
    assert (row["short_rru_now"], row["short_rru_at_once"]) == (short_rru(SERVERS), short_rru(up))
    (hw,) = report["hardware_types"]
    assert hw["bound_after"] + hw["free_after"] == len(up)
    estimate = client.post("/v1/simulations", params={"dry_run": "true"}, json=asked).json()
    assert estimate["at_once"]["shortfall_rru"] == short_rru(up)
    assert estimate["what_if"]["lose"] == asked["lose"]
    assert estimate["applicable"] is not bool(lose), "a loss is an event"
    assert dump(database) == before


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("datacenter", "dc-00"),
        ("msb", "msb-03"),
        ("rack", "rack-03"),
        ("power_row", "row-0"),
        ("network_block", "block-1"),
    ],
)
def test_the_loss_of_a_domain_without_servers_is_refused(
    east: None, client: TestClient, database: Database, kind: str, name: str
) -> None:
    asked = {"region": "east", "lose": [{"scope": kind, "name": name}]}
    assert client.post("/v1/simulations", params={"dry_run": "true"}, json=asked).status_code == 200
    with database.write() as tx:
        gone = "current_reservation_id = NULL, target_reservation_id = NULL, unavailability = 'unplanned'"
        tx.execute(sa.text(f"UPDATE servers SET decommissioned_at = now(), {gone}"))
    [error] = client.post("/v1/simulations", json=asked).json()["errors"]
    assert (error["field"], error["code"]) == ("lose[0].name", "no_servers")
    assert error["message"].startswith(f"no server lies in {name}, ")


@pytest.mark.parametrize("dry_run", ["true", "false"])
@pytest.mark.parametrize(
    ("lose", "field", "known"),
    [
        ({"scope": "netwrk_block", "name": "block-0"}, "lose[0].scope", ["network_block"]),
        (
            {"scope": "planet", "name": "x"},
            "lose[0].scope",
            ["datacenter", "msb", "network_block", "power_row", "rack"],
        ),
        ({"scope": "network_block", "name": "block-9"}, "lose[0].name", ["block-2", "block-1", "block-0"]),
        ({"scope": "power_row", "name": "block-0"}, "lose[0].name", ["row-0"]),
    ],
)
def test_what_the_region_lacks_is_refused_with_what_it_has(
    east: None, client: TestClient, dry_run: str, lose: dict, field: str, known: list[str]
) -> None:
    body = {"region": "east", "lose": [lose]}
    refused = client.post("/v1/simulations", params={"dry_run": dry_run}, json=body)
    (error,) = refused.json()["errors"]
    assert (refused.status_code, error["field"], error["code"]) == (422, field, "unknown_name")
    assert error["known"] == known
