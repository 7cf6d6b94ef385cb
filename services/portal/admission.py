"""Ask the model about one reservation: load what it needs, hand it over, and keep what a commit rests on."""

from __future__ import annotations

from dataclasses import dataclass

from libs.domain.fleet import FleetSnapshot
from libs.domain.reservation import ReservationSpec
from libs.domain.verdict import Verdict
from libs.domain.what_if import with_reservation
from libs.ras.admission import admit
from libs.store.database import Database
from libs.store.snapshot import load_fleet_snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """A verdict, and the snapshot (with the reservation as it is wanted) that it and its plan are about."""

    snapshot: FleetSnapshot
    verdict: Verdict


def assess(database: Database, region: str, name: str, spec: ReservationSpec) -> Assessment:
    """What the reservation `name` would get if it were as `spec` says. Changes nothing. Raises NotFound.

    The whole region is read, not only what is free: whether a request could ever be met depends on what is bound too.
    """
    with database.snapshot() as tx:
        snapshot, row = with_reservation(load_fleet_snapshot(tx, region), name, spec)
    return Assessment(snapshot=snapshot, verdict=admit(snapshot, row))
