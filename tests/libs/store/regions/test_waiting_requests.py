"""A region keeps what was promised on its way through files, although they leave out the requests that wait."""

import dataclasses
import io

import numpy as np
import pyarrow.parquet as pq
import pytest

from libs.domain.capacity_request import CapacityRequest
from libs.domain.finding import NewFinding
from libs.domain.region_image import RegionImage
from libs.domain.reservation import ReservationSpec
from libs.domain.reservation_phase import ReservationPhase
from libs.interchange.region.read import load_region
from libs.interchange.region.write import dump_region
from libs.store.capacity.capacity_requests import list_capacity_requests
from libs.store.capacity.findings import record_findings
from libs.store.capacity.ungranted import load_waiting
from libs.store.fleet.regions import load_region as load_stored_region
from libs.store.platform.database import Database
from libs.store.platform.refusals import NotPossible
from libs.store.regions.region_export import load_region_image
from libs.store.regions.region_import import import_region
from tests.builders.granted import ask
from tests.builders.region import region_image
from tests.builders.stored import reservation_id
from tests.libs.store.conftest import NOW

WEB = ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}, survives_msb_loss=False, priority=3)
CACHE = dataclasses.replace(WEB, capacity_rru=0.5, priority=2, guest_of="web", guest_share=0.25)
NAMES = ("web", "new", "db", "hw-a-buffer", "cache")


@pytest.fixture
def files(database: Database) -> dict[str, bytes]:
    """The files of west. There, web and cache wait for more, new waits for all, and db has what it asks for."""
    specs = dict.fromkeys(NAMES[:-1], dataclasses.replace(WEB, priority=2)) | {"web": WEB, "cache": CACHE}
    image = region_image(
        reservations=specs, kind={"hw-a-buffer": "shared_buffer"}, owner={"web": "ann", "cache": "ann"}
    )
    with database.write() as tx:
        import_region(tx, image, actor="olga", now=NOW)
    ask(database, [("create", 2, "granted"), ("resize", 3, "degraded")], name="web")
    ask(database, [("create", 3, "degraded")], name="new")
    ask(database, [("resize", 4, "rejected")], name="db")
    ask(database, [("create", 0.125, "granted"), ("resize", 0.5, "degraded")], name="cache")
    return exported(database, "west")


def exported(database: Database, region: str) -> dict[str, bytes]:
    with database.snapshot() as tx:
        return dump_region(load_region_image(tx, region))


def imported(database: Database, files: dict[str, bytes]) -> RegionImage:
    """Import the files as another region, and return what is stored of it."""
    with database.write() as tx:
        import_region(tx, load_region(files, name="east"), actor="oscar", now=NOW)
    with database.snapshot() as tx:
        return load_region_image(tx, "east")


def ids_of(image: RegionImage) -> dict[str, int]:
    of_guests = {guest.name: guest.reservation_id for guest in image.snapshot.guests}
    return {name: of_guests.get(name) or reservation_id(image.snapshot, name) for name in NAMES}


def waiting(database: Database, image: RegionImage) -> dict[str, float]:
    """Return what is promised of the reservations that wait for more."""
    ids = ids_of(image)
    with database.snapshot() as tx:
        found = load_waiting(tx, ids.values())
    return {name: found[i] for name, i in ids.items() if i in found}


def requests_of(database: Database, region: str) -> dict[str, CapacityRequest]:
    with database.snapshot() as tx:
        return {one.reservation_name: one for one in list_capacity_requests(tx, region=region).items}


def test_an_import_promises_what_the_exported_region_promised(database: Database, files: dict[str, bytes]) -> None:
    table = pq.read_table(io.BytesIO(files["reservations.parquet"]))
    promised = dict(zip(table["reservation"].to_pylist(), table["promised_rru"].to_pylist(), strict=True))
    assert promised == {"web": 2, "new": 0, "db": 3, "hw-a-buffer": 0, "cache": 0.125}
    east = imported(database, files)
    assert waiting(database, east) == {"web": 2, "new": 0, "cache": 0.125}
    assert exported(database, "east") == files


def test_the_rest_waits_as_a_request_until_a_solve_finds_it(database: Database, files: dict[str, bytes]) -> None:
    east = imported(database, files)
    found = requests_of(database, "east")
    assert {name: (one.kind, one.phase, one.reason, one.owner) for name, one in found.items()} == {
        "web": ("resize", "degraded", "Imported", "ann"),
        "new": ("resize", "degraded", "Imported", "team"),
        "cache": ("resize", "degraded", "Imported", "ann"),
    }
    assert (found["web"].spec, found["cache"].spec) == (WEB, CACHE)
    assert found["web"].message.startswith("It was imported with 2 of 3 RRU granted.")
    web = ids_of(east)["web"]
    [row] = np.flatnonzero(east.snapshot.reservations.id == web)
    covered = NewFinding(
        reservation_id=web,
        observed_generation=int(east.snapshot.reservations.generation[row]),
        phase=ReservationPhase.GRANTED,
        reason="Granted",
        message="",
        numbers={},
    )
    with database.write() as tx:
        assert record_findings(tx, load_stored_region(tx, "east").region_id, [covered], now=NOW) == 1
    assert waiting(database, east) == {"new": 0, "cache": 0.125}
    assert requests_of(database, "east")["web"].phase == "granted"


def test_files_without_the_column_promise_all(database: Database) -> None:
    with database.write() as tx:
        import_region(tx, region_image(reservations={"web": WEB}), actor="olga", now=NOW)
    files = exported(database, "west")
    assert "promised_rru" not in pq.read_schema(io.BytesIO(files["reservations.parquet"])).names
    imported(database, files)
    assert requests_of(database, "east") == {}
    assert exported(database, "east") == files


@pytest.mark.parametrize("promised", [3.5, -1.0, np.inf, np.nan])
def test_a_promise_of_more_than_is_asked_for_is_refused(database: Database, promised: float) -> None:
    image = region_image(reservations={"web": WEB})
    image = dataclasses.replace(image, snapshot=dataclasses.replace(image.snapshot, promised_rru=np.array([promised])))
    with database.write() as tx, pytest.raises(NotPossible, match="RRU are promised, of 3 that it asks for") as refused:
        import_region(tx, image, actor="olga", now=NOW)
    assert refused.value.field == "promised_rru"
