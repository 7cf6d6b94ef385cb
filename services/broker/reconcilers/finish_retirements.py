"""Retire empty scopes that are due, and report those that are due but not empty."""

from __future__ import annotations

from dataclasses import dataclass

from structlog import get_logger

from libs.domain.retirement import RetirementStatus, condition_of
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.store.fleet.regions import load_region
from libs.store.fleet.retirements import finish_retirements, list_retirements
from libs.store.platform.certain_time import certain_now
from libs.store.platform.database import Database

log = get_logger(__name__)
_SHOWN_MAX = 20
ACTOR = "plimsoll"


@dataclass(frozen=True, slots=True)
class FinishRetirements:
    """Finishes the retirements of one region. Idempotent."""

    database: Database
    clock: Clock
    region: str

    def reconcile(self) -> tuple[int, int]:
        """Return the numbers of finished and of overdue retirements. Raises NotFound for the region."""
        with self.database.write() as tx:
            now = certain_now(tx, self.clock)
            region_id = load_region(tx, self.region).region_id
            done, overdue = finish_retirements(tx, region_id, actor=ACTOR, now=now)
            crash_point("broker.retire.before")
        crash_point("broker.retire.after")
        if done:
            log.info("retirements.done", region=self.region, retirements=done)
        if overdue:
            self._say_overdue(overdue)
        return done, overdue

    def _say_overdue(self, overdue: int) -> None:
        now = self.clock.now()
        with self.database.snapshot() as tx:
            page = list_retirements(tx, self.region, status=RetirementStatus.ANNOUNCED, due_by=now, limit=_SHOWN_MAX)
        for retirement in page.items:
            log.warning(
                "retirement.overdue",
                region=self.region,
                retirement_id=retirement.retirement_id,
                overdue=overdue,
                message=condition_of(retirement, now).message,
            )
