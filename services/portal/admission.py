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
    """A verdict on a reservation that may not be stored yet, and the region as it was read for it."""

    before: FleetSnapshot
    verdict: Verdict

    def snapshot(self, name: str, spec: ReservationSpec, reservation_id: int) -> FleetSnapshot:
        """What the verdict's plan is about, once the reservation is stored and has an id."""
        return with_reservation(self.before, name, spec, reservation_id=reservation_id)[0]


def assess(database: Database, region: str, name: str, spec: ReservationSpec) -> Assessment:
    """What the reservation `name` would get if it were as `spec` says. Changes nothing. Raises NotFound.

    The whole region is read, not only what is free: whether a request could ever be met depends on what is bound too.
    """
    with database.snapshot() as tx:
        before = load_fleet_snapshot(tx, region)
    return Assessment(before=before, verdict=admit(*with_reservation(before, name, spec)))
