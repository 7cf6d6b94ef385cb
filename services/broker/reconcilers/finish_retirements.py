"""Retire empty scopes that are due, and report those that are due but not empty."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from structlog import get_logger

from libs.domain.region_condition import ConditionStatus, RegionConditionType
from libs.domain.retirement import RetirementStatus, condition_of
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.store.fleet.regions import load_region
from libs.store.fleet.retirements import finish_retirements, list_retirements
from libs.store.platform.certain_time import certain_now
from libs.store.platform.database import Database, Transaction
from libs.store.regions.region_conditions import condition_reason, set_condition

log = get_logger(__name__)
_SHOWN_MAX, _NAMED_MAX = 20, 3
"""Most overdue retirements that a log names, and a message."""
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
            self._tell(tx, region_id, overdue, now)
            crash_point("broker.retire.before")
        crash_point("broker.retire.after")
        if done:
            log.info("retirements.done", region=self.region, retirements=done)
        return done, overdue

    def _tell(self, tx: Transaction, region_id: int, overdue: int, now: datetime) -> None:
        """Log overdue retirements, and set the region's condition. It is set to True only after it was False."""
        kind = RegionConditionType.RETIREMENTS_DONE
        if not overdue:
            if condition_reason(tx, region_id, kind) is not None:
                message = "No retirement is overdue."
                set_condition(tx, region_id, kind, ConditionStatus.TRUE, reason="Done", message=message, now=now)
            return
        page = list_retirements(tx, self.region, status=RetirementStatus.ANNOUNCED, due_by=now, limit=_SHOWN_MAX)
        said = {one.retirement_id: condition_of(one, now).message for one in page.items}
        for retirement_id, message in said.items():
            log.warning(
                "retirement.overdue", region=self.region, retirement_id=retirement_id, overdue=overdue, message=message
            )
        more = f" And {overdue - _NAMED_MAX} more." if overdue > _NAMED_MAX else ""
        message = (
            f"Overdue retirements: {overdue}. {' '.join(list(said.values())[:_NAMED_MAX])}{more} "
            "`plimsoll get retirements` lists all."
        )
        numbers = {"overdue": overdue, "retirement_ids": list(said)}
        false = ConditionStatus.FALSE
        set_condition(tx, region_id, kind, false, reason="Overdue", message=message, numbers=numbers, now=now)
