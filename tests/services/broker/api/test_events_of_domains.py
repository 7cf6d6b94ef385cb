"""Report failures and ask for drains of a domain of a further kind, by requests."""

import io

import httpx
import pytest
from fastapi.testclient import TestClient

from libs.domain.reservation import ReservationSpec
from libs.interchange.inventory.inventory import dump_inventory
from libs.interchange.inventory.servers_csv import load_csv
from libs.store.platform.database import Database
from tests.builders.region import region_image
from tests.builders.stored import stored
from tests.builders.uploaded_region import pages

PATH = "/v1/unavailability-events"


@pytest.fixture(autouse=True)
def west(database: Database) -> None:
    """Two MSBs of one rack of eight servers. Each block has a server of each MSB. web is promised one server of two."""
    blocks = {f"server-{k:02d}": f"block-{k % 8}" for k in range(16)}
    web = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False)
    current = {"server-00": "web", "server-01": "web"}
    domains = {"network_block": blocks, "zone": {}}
    stored(database, region_image(servers_per_rack=8, reservations={"web": web}, current=current, domains=domains))


def send(client: TestClient, query: str = "", **change: object) -> httpx.Response:
    body = {"region": "west", "scope": "network_block", "scope_name": "block-0", "reason": "switch"}
    return client.post(PATH + query, json=body | {"kind": "unplanned"} | change)


def down(client: TestClient, how: str = "unplanned") -> list[object]:
    return [server["name"] for server in pages(client, "/v1/servers", unavailability=how)]


def test_a_block_fails_and_is_up_again(operator: TestClient) -> None:
    made = send(operator)
    assert made.status_code == 201
    event = operator.get(made.headers["Location"]).json()
    assert (event["scope"], event["scope_name"]) == ("network_block", "block-0")
    assert [(e["scope"], e["scope_name"]) for e in pages(operator, PATH, region="west")] == [
        ("network_block", "block-0")
    ]
    assert down(operator) == ["server-00", "server-08"]
    (entry,) = pages(operator, "/v1/audit-entries", subject_kind="unavailability_event")
    assert (entry["after"]["scope"], entry["after"]["scope_name"]) == ("network_block", "block-0")
    assert operator.post(made.headers["Location"] + "/end").json()["ended_at"] is not None
    assert down(operator) == []


def test_a_drain_of_a_block_is_answered_and_served(operator: TestClient) -> None:
    assert send(operator, "?dry_run=true", kind="planned").json()["verdict"] == "now"
    assert down(operator, "planned") == []
    drained = send(operator, kind="planned")
    assert (drained.status_code, drained.json()["state"]) == (201, "allowed")
    assert down(operator, "planned") == ["server-00", "server-08"]
    behind = send(operator, kind="planned", scope_name="block-2")
    assert (behind.status_code, behind.json()["answer"]["reason"]) == (202, "OtherMsb")
    operator.post(drained.headers["Location"] + "/end")
    assert down(operator, "planned") == ["server-02", "server-10"]
    operator.post(behind.headers["Location"] + "/end")
    assert send(operator, scope="server", scope_name="server-01").status_code == 201
    refused = send(operator, kind="planned")
    assert (refused.status_code, refused.json()["code"]) == (409, "maintenance_refused")
    assert "Maintenance of network_block block-0 is refused" in refused.json()["detail"]
    assert refused.json()["answer"]["short_rru"] == {"web": 1.0}


def test_an_import_says_which_servers_a_drain_does_not_take(operator: TestClient) -> None:
    drained = send(operator, kind="planned")
    assert drained.json()["newcomers"] is None
    head = "server,datacenter,msb,rack,hardware_type,domain:network_block"
    rows = [f"server-{k:02d},dc-00,msb-00,rack-00,hw-a,block-0" for k in (1, 2, 3)]
    inventory = dump_inventory(load_csv(io.BytesIO("\n".join([head, *rows]).encode()), "a.csv"))
    files = {"servers": ("servers.parquet", inventory)}
    made = operator.post("/v1/regions/west/imports", files=files)
    assert operator.post(made.headers["Location"] + "/confirm").status_code == 200
    newcomers = operator.get(drained.headers["Location"]).json()["newcomers"]
    assert (newcomers["servers"], newcomers["answer"]["reason"]) == (3, "AboveQuarter")
    assert newcomers["answer"]["message"].startswith("it takes 3 of the 8 servers of msb-00; at most 2")
    assert down(operator, "planned") == ["server-00", "server-08"]


@pytest.mark.parametrize("query", ["", "?dry_run=true"])
@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"scope": "netwrk_block"}, "scope", "it has datacenter, msb, rack, server, network_block"),
        ({"scope": "planet", "scope_name": "earth"}, "scope", "no kind of domain called planet"),
        ({"scope_name": "blok-0"}, "scope_name", "did you mean block-0"),
        ({"scope_name": "rack-00"}, "scope_name", "no network_block is called rack-00"),
    ],
)
def test_an_unknown_kind_or_domain_is_named(
    operator: TestClient, query: str, change: dict[str, str], field: str, said: str
) -> None:
    refused = send(operator, query, kind="planned", **change)
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert error["field"] == field
    assert said in error["message"]
    if not query:
        assert send(operator, **change).status_code == 422
