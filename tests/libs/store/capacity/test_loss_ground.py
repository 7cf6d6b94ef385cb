"""The ground of the outlook has the servers that count as held, and no others."""

from collections.abc import Sequence

import numpy as np
import pytest

from libs.domain.reservation import ReservationSpec
from libs.reconcile.clock import SystemClock
from libs.store.capacity.drain_ground import load_drain_ground
from libs.store.capacity.loss_ground import load_loss_ground
from libs.store.platform.database import Database
from libs.store.platform.refusals import NotFound
from tests.builders.granted import ask
from tests.builders.region import region_image
from tests.builders.stored import stored

SPECS = {
    "web": ReservationSpec(capacity_rru=2, rru={"hw-a": 1.5}),
    "db": ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False),
    "spare": ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False),
}
CURRENT = {f"server-0{i}": name for i, name in enumerate(("web", "web", "db", "spare", "web", "web", "spare"))}


def test_what_is_up_and_has_joined_counts(database: Database) -> None:
    image = region_image(
        reservations=SPECS,
        current=CURRENT,
        target={"server-07": "web"},
        kind={"spare": "shared_buffer"},
        owner={"db": "data"},
        in_use=["server-00", "server-02"],
        down=["server-01", "server-06"],
        maintained=["server-05"],
    )
    stored(database, image)
    with database.snapshot() as tx:
        ground = load_loss_ground(tx, "west")
    assert ground.domain.tolist() == ["msb-00", "msb-01"]
    assert dict(zip(ground.reservation, ground.owner, strict=True)) == {"web": "team", "db": "data"}
    held = {str(name): ground.held_rru[r].tolist() for r, name in enumerate(ground.reservation)}
    assert held == {"web": [1.5, 1.5], "db": [1.0, 0.0]}, "not down, not in maintenance, and not on its way"
    assert dict(zip(ground.reservation, ground.survives.tolist(), strict=True)) == {"web": True, "db": False}
    assert ground.servers.tolist() == [4, 4]
    assert ground.down.tolist() == [1, 1]
    assert ground.in_use.tolist() == [2, 0]
    assert ground.spare.tolist() == [1, 0], "a spare server that is down is no spare"
    assert ground.capacity_rru.dtype == ground.granted_rru.dtype == np.float64


@pytest.mark.parametrize(
    ("requests", "granted"),
    [
        ([("create", 2, "granted")], 2.0),
        ([("create", 2, "degraded")], 0.0),
        ([("create", 0.5, "granted"), ("resize", 2, "degraded")], 0.5),
        ([("create", 9, "granted"), ("resize", 2, "degraded")], 2.0),
        ([("create", 2, "granted"), ("resize", 1, "awaiting_approval")], 2.0),
    ],
)
def test_a_request_that_waits_is_promised_as_far_as_it_was_granted(
    database: Database, requests: Sequence[tuple[str, float, str]], granted: float
) -> None:
    stored(database, region_image(reservations=SPECS, current=CURRENT, kind={"spare": "shared_buffer"}))
    ask(database, requests)
    with database.snapshot() as tx:
        ground = load_loss_ground(tx, "west")
    found = dict(zip(ground.reservation, zip(ground.capacity_rru, ground.granted_rru, strict=True), strict=True))
    assert found == {"web": (2.0, granted), "db": (1.0, 1.0)}


def test_an_unknown_region_is_named(database: Database) -> None:
    with database.snapshot() as tx, pytest.raises(NotFound, match="nowhere"):
        load_loss_ground(tx, "nowhere")


def test_resources_and_guests_are_held_too(database: Database) -> None:
    """web has 2 of 4 servers in msb-00 and one of 4 in msb-01. Each has 100 of the 250 GiB that web asks for."""
    specs = {
        "web": ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, resources={"memory_gib": 250}),
        "cache": ReservationSpec(capacity_rru=50, rru={"hw-a": 40.0}, guest_of="web", guest_share=0.5),
    }
    current = dict.fromkeys(("server-00", "server-01", "server-04"), "web")
    stored(database, region_image(reservations=specs, current=current, attributes={"hw-a": {"memory_gib": 100}}))
    with database.snapshot() as tx:
        ground = load_loss_ground(tx, "west")
        drains = load_drain_ground(tx, "west", racks=("rack-00",), msbs=(), now=SystemClock().now())
    held = {str(name): ground.held_rru[r].tolist() for r, name in enumerate(ground.reservation)}
    assert held == {"web": [1.0, 0.5], "cache": [40.0, 20.0]}
    assert ground.reservation[ground.resource_of].tolist() == ["web"]
    assert ground.resource_rru[0] == pytest.approx([0.8, 0.4]), "200 and 100 of 250 GiB, for 1 RRU"
    whole = dict(zip(ground.reservation, ground.least(ground.rows_rru.sum(1)), strict=True))
    assert whole == {"web": pytest.approx(1.2), "cache": 60.0}
    assert drains.gone_rru[0] == pytest.approx([*ground.held_rru[:, 0], 0.8])
