"""Replace lost servers from the shared buffers at once, without the solver (RAS, 3.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from structlog import get_logger

from libs.domain.plan import PlanKind
from libs.domain.region_condition import ConditionStatus, RegionConditionType
from libs.domain.replacement import FailuresSnapshot, LossVerdict, Replacements
from libs.observability.tallies import REPLACEMENTS
from libs.plan_check.check import require_clean
from libs.plan_check.replacement import check_replacements
from libs.ras.msb_losses import HOLD_S_MAX, WINDOW_S
from libs.ras.replacement import plan_replacements
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.reconcile.retry import retry_stale
from libs.store.fleet.regions import load_region
from libs.store.moves.replacement_need import load_failures
from libs.store.plans.plans import commit_plan
from libs.store.platform.database import Database, Transaction
from libs.store.platform.refusals import is_stale
from libs.store.regions.region_conditions import set_condition

_SHORT = (LossVerdict.NO_BUFFER, LossVerdict.BUFFER_EMPTY)
_SHOWN_MAX = 10
log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class DrawReplacements:
    """Swaps one region's lost servers for spare ones. Idempotent: a swapped server no longer counts as lost."""

    database: Database
    clock: Clock
    region: str

    def reconcile(self) -> Mapping[LossVerdict, int]:
        """Return the number of lost servers per verdict.

        Raises NotFound for the region, and StaleGeneration if other writers won ATTEMPTS_MAX times in a row.
        """
        return retry_stale(self._attempt, stale=is_stale, note=self._note_stale)

    def _note_stale(self, attempt: int, error: Exception) -> None:
        log.info("replacements.overtaken", region=self.region, attempt=attempt, because=str(error))

    def _attempt(self) -> Mapping[LossVerdict, int]:
        now = self.clock.now()
        with self.database.snapshot() as tx:
            failures = load_failures(tx, self.region, now=now)
        if failures is None:
            with self.database.write() as tx:
                _say(tx, load_region(tx, self.region).region_id, self.clock, None, None)
            return {}
        drawn = plan_replacements(failures)
        require_clean(check_replacements(failures, drawn.plan))
        with self.database.write() as tx:
            plan = commit_plan(
                tx,
                failures.fleet,
                drawn.plan,
                kind=PlanKind.REPLACEMENT,
                now=now,
                parent=failures.fleet.target_plan_id,
            )
            _say(tx, load_region(tx, self.region).region_id, self.clock, failures, drawn)
            if plan is not None:
                crash_point("mover.replace.before")
        counts = Counter(drawn.verdict)
        if plan is not None:
            crash_point("mover.replace.after")
            REPLACEMENTS.count(self.region, by=counts[LossVerdict.DRAWN])
            figures = {verdict.value: number for verdict, number in counts.items()}
            log.info("replacements.drawn", region=self.region, plan_id=plan.plan_id, returned=drawn.returned, **figures)
        return counts


def _say(
    tx: Transaction, region_id: int, clock: Clock, failures: FailuresSnapshot | None, drawn: Replacements | None
) -> None:
    """Set the region's condition that states how many lost servers have no replacement, and what would help."""
    status, reason, message = ConditionStatus.TRUE, "NothingMissing", "No reservation lacks a server for a failure."
    numbers: dict[str, object] = {}
    if failures is not None and drawn is not None:
        numbers = dict(Counter(verdict.value for verdict in drawn.verdict if verdict is not LossVerdict.DRAWN))
        short = _short_by_type(failures, drawn)
        if not short and LossVerdict.HELD in drawn.verdict:
            msbs = ", ".join(_held_msbs(failures, drawn)[:_SHOWN_MAX])
            status, reason = ConditionStatus.UNKNOWN, "MsbSuspected"  # it ends by itself, so it is no alarm
            message = (
                f"Lost servers of {msbs} wait with their replacement: more failed within {WINDOW_S / 60:g} min than "
                f"single failures explain. If it is no loss of an MSB, they are replaced {WINDOW_S / 60:g} min after "
                f"the last failure, and at most {HOLD_S_MAX / 60:g} min after their own."
            )
        if short:
            status, numbers["lacking"] = ConditionStatus.FALSE, short
            reason = "NoSharedBuffer" if LossVerdict.BUFFER_EMPTY not in drawn.verdict else "SharedBufferExhausted"
            shown = [f"{number} {kind}" for kind, number in list(short.items())[:_SHOWN_MAX]]
            more = f" and of {len(short) - _SHOWN_MAX} more types" if len(short) > _SHOWN_MAX else ""
            lost = f"Lost servers without a replacement: {', '.join(shown)}{more}."
            if reason == "NoSharedBuffer" and failures.fleet.policy.shared_buffer_share == 0:
                status = ConditionStatus.UNKNOWN  # an operator chose this, so it is no alarm
                message = (
                    f"{lost} This region keeps no shared buffer, so a solve replaces them. Set shared_buffer_share "
                    "in its policy to have them replaced within seconds."
                )
            else:
                message = (
                    f"{lost} Their shared buffers have no server left that is up. The next solve looks for free "
                    "ones; mend servers, or raise shared_buffer_share."
                )
    set_condition(
        tx,
        region_id,
        RegionConditionType.LOST_SERVERS_REPLACED,
        status,
        reason=reason,
        message=message,
        numbers=numbers,
        now=clock.now(),
    )


def _held_msbs(failures: FailuresSnapshot, drawn: Replacements) -> list[str]:
    """Return the names of the MSBs whose lost servers wait, in order."""
    fleet = failures.fleet
    rows = [row for row, verdict in zip(drawn.lost, drawn.verdict, strict=True) if verdict is LossVerdict.HELD]
    return sorted({str(fleet.topology.msbs[fleet.server_msb[row]]) for row in rows})


def _short_by_type(failures: FailuresSnapshot, drawn: Replacements) -> dict[str, int]:
    """Count, per hardware type, the lost servers without a replacement."""
    fleet = failures.fleet
    rows = [row for row, verdict in zip(drawn.lost, drawn.verdict, strict=True) if verdict in _SHORT]
    kinds = (str(fleet.hardware_types[fleet.servers.hardware_type[row]]) for row in rows)
    return dict(sorted(Counter(kinds).items()))
