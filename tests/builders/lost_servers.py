"""A stored region whose servers fail, and what the replacements make of it."""

from __future__ import annotations

import sqlalchemy as sa

from libs.domain.region_condition import RegionCondition, RegionConditionType
from libs.domain.region_image import RegionImage
from libs.domain.reservation import ReservationSpec
from libs.domain.unavailability import Unavailability, UnavailabilityEvent
from libs.store.fleet.regions import load_region
from libs.store.fleet.unavailability_events import end_event, open_event
from libs.store.platform.database import Database
from libs.store.platform.jobs import list_jobs
from libs.store.regions.region_conditions import load_conditions
from services.mover.reconcilers.draw_replacements import DrawReplacements, LastDecisions
from tests.builders.clock import ManualClock
from tests.builders.region import region_image
from tests.builders.stored import read, stored, targets

SPECS = {
    "web": ReservationSpec(capacity_rru=6, rru={"hw-a": 1.0}, survives_msb_loss=False),
    "spare": ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False),
}
CURRENT = {f"server-{i:02d}": "web" for i in (0, 1, 2, 3, 8, 9)} | {"server-10": "spare", "server-11": "spare"}


class LostServers:
    """Two MSBs of two racks of four servers; web holds the first rack and half of the third."""

    def __init__(self, database: Database, clock: ManualClock, image: RegionImage | None = None) -> None:
        self.database, self.clock = database, clock
        self.last = LastDecisions()
        usual = region_image(racks_per_msb=2, reservations=SPECS, current=CURRENT, kind={"spare": "shared_buffer"})
        stored(database, image or usual)

    def fail(self, scope: str, name: str, kind: Unavailability = Unavailability.UNPLANNED) -> UnavailabilityEvent:
        with self.database.write() as tx:
            return open_event(
                tx,
                "west",
                scope=scope,
                scope_name=name,
                kind=kind,
                reason="test",
                starts_at=self.clock.now(),
                ends_at=None,
                actor="health",
                now=self.clock.now(),
            )

    def mend(self, event: UnavailabilityEvent) -> None:
        with self.database.write() as tx:
            end_event(tx, event.unavailability_event_id, generation=None, actor="h", now=self.clock.now())

    def draw(self) -> dict[str, int]:
        self.clock.sleep(1.0)
        drawn = DrawReplacements(self.database, self.clock, "west", self.last).reconcile()
        return {verdict.value: number for verdict, number in drawn.items()}

    def targets(self) -> dict[str, str]:
        return targets(read(self.database))

    def jobs(self) -> set[str]:
        with self.database.snapshot() as tx:
            return {job.kind for job in list_jobs(tx).items}

    def forget_jobs(self) -> None:
        with self.database.write() as tx:
            tx.execute(sa.text("DELETE FROM jobs"))

    def condition(self) -> RegionCondition:
        with self.database.snapshot() as tx:
            region_id = load_region(tx, "west").region_id
            (condition,) = (
                c
                for c in load_conditions(tx, [region_id])[region_id]
                if c.type is RegionConditionType.LOST_SERVERS_REPLACED
            )
            return condition
