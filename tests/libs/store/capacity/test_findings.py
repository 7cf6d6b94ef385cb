from datetime import timedelta

import pytest
import sqlalchemy as sa

from libs.domain.finding import NewFinding
from libs.domain.fleet import FleetSnapshot
from libs.domain.reservation import ReservationSpec
from libs.domain.reservation_phase import ReservationPhase
from libs.store.capacity.findings import record_findings
from libs.store.platform.database import Database, Transaction
from tests.builders.region import region_image
from tests.builders.stored import NOW, reservation_id, stored

SPEC = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0})
GRANTED, DEGRADED = ReservationPhase.GRANTED, ReservationPhase.DEGRADED
LATER = NOW + timedelta(hours=1)


@pytest.fixture
def snapshot(database: Database) -> FleetSnapshot:
    return stored(database, region_image(reservations={"web": SPEC, "batch": SPEC}))


def find(tx: Transaction, found: dict[int, ReservationPhase], *, generation: int = 1, now=NOW) -> int:
    region_id = tx.execute(sa.text("SELECT region_id FROM regions")).scalar_one()
    findings = [
        NewFinding(
            reservation_id=reservation_id,
            observed_generation=generation,
            phase=phase,
            reason="because",
            message=f"it is {phase}",
            numbers={"missing": {"hw-07": 40}, "phase": phase.value},
        )
        for reservation_id, phase in found.items()
    ]
    return record_findings(tx, region_id, findings, now=now)


def request(tx: Transaction, reservation: int, phase: str) -> int:
    statement = """
        INSERT INTO capacity_requests (region_id, kind, reservation_name, reservation_id, owner, spec, phase, reason,
                                       message, numbers, requested_by, created_at, changed_at)
        SELECT region_id, 'create', name, reservation_id, 'team', '{}', :phase, 'short', 'wait', '{}', 'olga', :now,
               :now
        FROM reservations WHERE reservation_id = :reservation RETURNING capacity_request_id"""
    values = {"phase": phase, "now": NOW, "reservation": reservation}
    return tx.execute(sa.text(statement), values).scalar_one()


def status(tx: Transaction, reservation: int) -> sa.RowMapping:
    query = "SELECT * FROM reservation_statuses WHERE reservation_id = :id"
    return tx.execute(sa.text(query), {"id": reservation}).mappings().one()


def test_a_finding_is_kept_and_the_time_of_its_phase_with_it(database: Database, snapshot: FleetSnapshot) -> None:
    web, batch = reservation_id(snapshot, "web"), reservation_id(snapshot, "batch")
    with database.write() as tx:
        find(tx, {web: DEGRADED, batch: GRANTED})
        find(tx, {web: DEGRADED, batch: DEGRADED}, now=LATER)
        first, second = status(tx, web), status(tx, batch)
    assert (first["changed_at"], first["observed_at"]) == (NOW, LATER)
    assert (second["changed_at"], second["observed_at"]) == (LATER, LATER)
    assert (second["phase"], second["message"]) == ("degraded", "it is degraded")
    assert second["numbers"] == {"missing": {"hw-07": 40}, "phase": "degraded"}


def test_an_old_finding_does_not_replace_a_new_one(database: Database, snapshot: FleetSnapshot) -> None:
    web = reservation_id(snapshot, "web")
    with database.write() as tx:
        find(tx, {web: DEGRADED}, generation=2)
        find(tx, {web: GRANTED}, generation=1, now=LATER)
        assert (status(tx, web)["phase"], status(tx, web)["observed_generation"]) == ("degraded", 2)


def test_findings_do_not_make_an_owners_read_stale(database: Database, snapshot: FleetSnapshot) -> None:
    web = reservation_id(snapshot, "web")
    with database.write() as tx:
        find(tx, {web: DEGRADED})
        query = sa.text("SELECT generation FROM reservations WHERE reservation_id = :id")
        assert tx.execute(query, {"id": web}).scalar_one() == 1


def test_a_request_is_granted_once_its_reservation_is_covered(database: Database, snapshot: FleetSnapshot) -> None:
    web, batch = reservation_id(snapshot, "web"), reservation_id(snapshot, "batch")
    with database.write() as tx:
        asked = {request(tx, web, "degraded"): "granted", request(tx, web, "rejected"): "rejected"}
        asked[request(tx, batch, "degraded")] = "degraded"
        assert find(tx, {web: GRANTED, batch: DEGRADED}, now=LATER) == 1
        rows = tx.execute(sa.text("SELECT * FROM capacity_requests")).mappings().all()
    assert {row["capacity_request_id"]: row["phase"] for row in rows} == asked
    [granted] = [row for row in rows if row["phase"] == "granted"]
    assert (granted["message"], granted["changed_at"], granted["generation"]) == ("it is granted", LATER, 2)


def test_what_was_found_before_a_resize_grants_nothing(database: Database, snapshot: FleetSnapshot) -> None:
    web = reservation_id(snapshot, "web")
    with database.write() as tx:
        request(tx, web, "degraded")
        tx.execute(sa.text("UPDATE reservations SET capacity_rru = 9 WHERE reservation_id = :id"), {"id": web})
        assert find(tx, {web: GRANTED}, generation=1) == 0
        assert find(tx, {web: GRANTED}, generation=2) == 1


def test_a_deleted_reservation_has_no_findings(database: Database, snapshot: FleetSnapshot) -> None:
    web = reservation_id(snapshot, "web")
    with database.write() as tx:
        tx.execute(sa.text("UPDATE reservations SET deleted_at = now() WHERE reservation_id = :id"), {"id": web})
        find(tx, {web: GRANTED})
        find(tx, {})
        assert tx.execute(sa.text("SELECT count(*) FROM reservation_statuses")).scalar_one() == 0
