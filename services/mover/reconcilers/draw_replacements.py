"""Replace lost servers from the shared buffers at once, without the solver (RAS, 3.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np
from structlog import get_logger

from libs.domain.domain_kind import MSB_KIND, domain_words, one_of
from libs.domain.plan import PlanKind
from libs.domain.region_condition import ConditionStatus, RegionConditionType
from libs.domain.replacement import FailuresSnapshot, LossVerdict, Replacements
from libs.observability.tallies import REPLACEMENTS
from libs.plan_check.check import require_clean
from libs.plan_check.replacement import check_replacements
from libs.ras.domain_losses import HOLD_S_MAX, WINDOW_S, suspected_names
from libs.ras.replacement import plan_replacements
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.reconcile.retry import retry_stale
from libs.store.fleet.regions import load_region
from libs.store.moves.replacement_need import find_failures, load_failures
from libs.store.plans.plans import commit_plan
from libs.store.platform.database import Database, Transaction
from libs.store.platform.refusals import is_stale
from libs.store.regions.region_conditions import set_condition

_SHORT = (LossVerdict.NO_BUFFER, LossVerdict.BUFFER_EMPTY)
_SHOWN_MAX = 10
log = get_logger(__name__)


TRUSTED_FOR = timedelta(minutes=10)
"""Longest time for which an unchanged region is not read again, in case that its fingerprint misses something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """A decision in words: the condition of the region, with the number of lost servers per verdict."""

    status: ConditionStatus = ConditionStatus.TRUE
    reason: str = "NothingMissing"
    message: str = "No reservation lacks a server for a failure."
    numbers: Mapping[str, object] = field(default_factory=dict)
    counts: Mapping[LossVerdict, int] = field(default_factory=dict)


class LastDecisions:
    """The last decision of each region that changed nothing, in the memory of one process.

    It is no state: a decision is repeated if it is not there. A process that ends loses nothing.
    """

    def __init__(self) -> None:
        self._of: dict[str, tuple[str, datetime, _Said]] = {}

    def find(self, region: str, ground: str, now: datetime) -> _Said | None:
        """Return the last decision, if it rests on the same ground and is not old."""
        seen, decided_at, said = self._of.get(region, ("", now, _Said()))
        return said if seen == ground and timedelta() <= now - decided_at < TRUSTED_FOR else None

    def keep(self, region: str, ground: str, now: datetime, said: _Said) -> None:
        """Keep a decision that changed nothing. A held server waits for time alone, so such a decision is not kept."""
        if LossVerdict.HELD not in said.counts:
            self._of[region] = (ground, now, said)


@dataclass(frozen=True, slots=True)
class DrawReplacements:
    """Swaps one region's lost servers for spare ones. Idempotent: a swapped server no longer counts as lost.

    last   what was decided before, so that a region is read only if something changed (docs/designs/0065)
    """

    database: Database
    clock: Clock
    region: str
    last: LastDecisions = field(default_factory=LastDecisions)

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
            found = find_failures(tx, self.region, now=now)
            said = _Said() if found is None else self.last.find(self.region, found.ground, now)
            failures = load_failures(tx, found) if found is not None and said is None else None
        if found is None or failures is None:
            with self.database.write() as tx:
                self._say(tx, said or _Said())  # another process may have said something else meanwhile
            return said.counts if said else {}
        drawn = plan_replacements(failures)
        require_clean(check_replacements(failures, drawn.plan))
        said = _said(failures, drawn)
        with self.database.write() as tx:
            plan = commit_plan(
                tx,
                failures.fleet,
                drawn.plan,
                kind=PlanKind.REPLACEMENT,
                now=now,
                parent=failures.fleet.target_plan_id,
            )
            self._say(tx, said)
            if plan is not None:
                crash_point("mover.replace.before")
        if plan is not None:
            crash_point("mover.replace.after")
            REPLACEMENTS.count(self.region, by=said.counts.get(LossVerdict.DRAWN, 0))
            figures = {verdict.value: number for verdict, number in said.counts.items()}
            log.info("replacements.drawn", region=self.region, plan_id=plan.plan_id, returned=drawn.returned, **figures)
        else:
            self.last.keep(self.region, found.ground, now, said)
        return said.counts

    def _say(self, tx: Transaction, said: _Said) -> None:
        """Set the region's condition that states how many lost servers have no replacement, and what would help."""
        set_condition(
            tx,
            load_region(tx, self.region).region_id,
            RegionConditionType.LOST_SERVERS_REPLACED,
            said.status,
            reason=said.reason,
            message=said.message,
            numbers=said.numbers,
            now=self.clock.now(),
        )


def _said(failures: FailuresSnapshot, drawn: Replacements) -> _Said:
    """Put a decision into words."""
    said = _Said(counts=Counter(drawn.verdict))
    numbers: dict[str, object] = {v.value: n for v, n in said.counts.items() if v is not LossVerdict.DRAWN}
    short = _short_by_type(failures, drawn)
    if short:
        return _short(failures, said, numbers, short)
    if LossVerdict.HELD not in drawn.verdict:
        return replace(said, numbers=numbers)
    held = np.array(
        [row for row, verdict in zip(drawn.lost, drawn.verdict, strict=True) if verdict is LossVerdict.HELD]
    )
    suspected = suspected_names(failures, held)
    domains = [domain_words(kind, name) for kind, names in suspected.items() for name in names]
    loss = " or ".join(map(one_of, suspected))
    message = (
        f"Lost servers of {', '.join(domains[:_SHOWN_MAX])} wait with their replacement: more failed within "
        f"{WINDOW_S / 60:g} min than single failures explain. If it is no loss of {loss}, they are replaced "
        f"{WINDOW_S / 60:g} min after the last failure, and at most {HOLD_S_MAX / 60:g} min after their own."
    )
    reason = "MsbSuspected" if MSB_KIND in suspected else "DomainSuspected"
    # it ends by itself, so it is no alarm
    return replace(said, status=ConditionStatus.UNKNOWN, reason=reason, message=message, numbers=numbers)


def _short(failures: FailuresSnapshot, said: _Said, numbers: Mapping[str, object], short: Mapping[str, int]) -> _Said:
    """Put into words that lost servers have no replacement: `short` of them per hardware type."""
    shown = [f"{number} {kind}" for kind, number in list(short.items())[:_SHOWN_MAX]]
    more = f" and of {len(short) - _SHOWN_MAX} more types" if len(short) > _SHOWN_MAX else ""
    lost = f"Lost servers without a replacement: {', '.join(shown)}{more}."
    status = ConditionStatus.FALSE
    reason = "NoSharedBuffer" if LossVerdict.BUFFER_EMPTY not in said.counts else "SharedBufferExhausted"
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
    return replace(said, status=status, reason=reason, message=message, numbers={**numbers, "lacking": dict(short)})


def _short_by_type(failures: FailuresSnapshot, drawn: Replacements) -> dict[str, int]:
    """Count, per hardware type, the lost servers without a replacement."""
    fleet = failures.fleet
    rows = [row for row, verdict in zip(drawn.lost, drawn.verdict, strict=True) if verdict in _SHORT]
    kinds = (str(fleet.hardware_types[fleet.servers.hardware_type[row]]) for row in rows)
    return dict(sorted(Counter(kinds).items()))
