"""Sum the waiting spans by day. A trace is summed once it is silent: it has had no new span for a while."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from structlog import get_logger

from libs.domain.demand import Demand
from libs.domain.spans import Spans
from libs.domain.telemetry import SpanSums
from libs.flux.attribution.demand import demand_of
from libs.flux.attribution.span_sums import sum_waiting_spans
from libs.observability.tallies import SPANS, STALE
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.store.platform.database import Database
from libs.store.telemetry.span_batches import StaleSpans, load_waiting_spans, rejected_of, settle_spans
from libs.store.telemetry.span_sums import add_span_sums

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SumSpans:
    """Sums every span once: its sum and its removal from the waiting spans commit together.

    A kill loses no span and counts none twice. If two sweeps run at the same time, the slower one finds no spans.
    """

    database: Database
    clock: Clock
    window_s: float
    attribute: Callable[[Spans, int, int], Demand] = demand_of
    """Returns the demand of whole traces, given the numbers of services and of products."""

    def reconcile(self) -> SpanSums | None:
        """Load, sum and commit; return None if no span waits, or another sweep was faster."""
        with self.database.snapshot() as tx:
            waiting = load_waiting_spans(tx)
        if not len(waiting.batch_id):
            return None
        sums = sum_waiting_spans(waiting, self.window_s, self.attribute)
        rejected = rejected_of(waiting, sums)
        crash_point("planner.spans.before")
        try:
            with self.database.write() as tx:
                settle_spans(tx, waiting, sums)
                add_span_sums(tx, self.clock.now().date(), sums, rejected=rejected)
        except StaleSpans:
            STALE.count("spans_sum")
            return None
        crash_point("planner.spans.after")
        attributed, orphaned = int(sums.demand.attributed.sum()), int(sums.demand.orphaned.sum())
        whole = int(sums.demand.spans.sum())
        counts = {
            "attributed": attributed,
            "orphaned": orphaned,
            "without_gateway": whole - attributed - orphaned,
            "late": sums.late,
            "duplicate": sums.demand.duplicates,
            "rejected": rejected,
        }
        for outcome, number in counts.items():
            SPANS.count(outcome, by=number)
        log.info("spans.summed", waiting=len(sums.settled) - int(sums.settled.sum()), **counts)
        return sums
