"""A solve knows what each reservation was granted so far: only that may exceed the churn budget."""

import pytest

from libs.domain.reservation import ReservationSpec
from libs.store.capacity.shared_buffers import size_shared_buffers
from libs.store.fleet.regions import load_region
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.moves.churn import with_churn
from libs.store.platform.database import Database
from tests.builders.granted import ask
from tests.builders.region import region_image
from tests.builders.stored import NOW, stored


def promised(database: Database) -> dict[str, float]:
    with database.snapshot() as tx:
        snapshot = with_churn(tx, load_fleet_snapshot(tx, "west"), now=NOW)
    assert snapshot.promised_rru is not None
    return dict(zip(snapshot.reservations.name.tolist(), snapshot.promised_rru.tolist(), strict=True))


@pytest.mark.parametrize(
    ("requests", "of_web"),
    [
        ([], 4.0),
        ([("create", 4, "granted")], 4.0),
        ([("create", 4, "degraded")], 0.0),
        ([("create", 3, "granted"), ("resize", 4, "degraded")], 3.0),
        ([("create", 9, "granted"), ("resize", 4, "degraded")], 4.0),
        ([("create", 3, "granted"), ("resize", 9, "rejected")], 4.0),
        ([("create", 3, "degraded"), ("resize", 4, "granted")], 4.0),
    ],
)
def test_what_was_granted_so_far_is_promised(
    database: Database, requests: list[tuple[str, float, str]], of_web: float
) -> None:
    spec = ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0})
    stored(database, region_image(reservations={"web": spec, "batch": spec}))
    ask(database, requests)
    assert promised(database) == {"web": of_web, "batch": 4.0}


def test_a_shared_buffer_is_promised_to_no_owner(database: Database) -> None:
    stored(database, region_image(reservations={"web": ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0})}))
    with database.write() as tx:
        size_shared_buffers(tx, load_region(tx, "west").region_id, share=0.5, now=NOW)
    found = promised(database)
    assert found.pop("web") == 4.0
    assert set(found.values()) == {0.0}
