"""`./scripts/bench ledger`: proposals, changes and the combined effect in a ledger of 50,000 events."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import sqlalchemy as sa

from libs.domain.capacity_event import CapacityDelta, EventChange, EventStatus, Proposal, TrafficShift, Writer
from libs.store.ledger.changes import change_events
from libs.store.ledger.effects import combined_effect
from libs.store.ledger.events import EventFilter, load_events
from libs.store.ledger.proposals import propose_events
from libs.store.platform.database import Database, Transaction
from libs.store.platform.migrate import migrate
from services.standalone.postgres import running_postgres

_START = datetime(2026, 11, 2, tzinfo=UTC)
_WEEK = timedelta(7)
_DUE = _START + _WEEK
_FIGURES: dict[str, Callable[[Sequence[float]], float]] = {"least": min, "median": statistics.median, "max": max}
_READS: dict[str, Callable[[Transaction], object]] = {
    "effect_place_s": lambda tx: combined_effect(
        tx, at=_DUE, service="service-7", region="region-7", product="product-3"
    ),
    "effect_service_s": lambda tx: combined_effect(tx, at=_DUE, service="service-7"),
    "effect_region_s": lambda tx: combined_effect(tx, at=_DUE, region="region-7"),
    "effect_all_s": lambda tx: combined_effect(tx, at=_DUE),
    "active_page_s": lambda tx: load_events(tx, EventFilter(statuses=(EventStatus.ACTIVE,)), limit=1000),
}


def bench_ledger(argv: list[str]) -> dict[str, object]:
    """Return seconds: the least, the median and the longest of reads, and single runs of writes.

    A tenth of the events are shifts.

    Half of the events have succeeded, a fifth are active and a tenth approved. The rest is proposed.
    """
    parser = argparse.ArgumentParser(prog="bench ledger")
    parser.add_argument("--services", type=int, default=1000)
    parser.add_argument("--regions", type=int, default=20)
    parser.add_argument("--events", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=9)
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as home, running_postgres(Path(home) / "postgres") as url:
        migrate(url)
        database = Database(url)
        try:
            return _write(database, given) | _read(database, given.runs)
        finally:
            database.close()


def _write(database: Database, given: argparse.Namespace) -> dict[str, object]:
    proposals = [_proposal(number, given.services, given.regions) for number in range(given.events)]
    began = time.perf_counter()
    with database.write() as tx:
        ids = propose_events(tx, proposals, actor="bench", now=_START).tolist()
    proposed_s, began = time.perf_counter() - began, time.perf_counter()
    with database.write() as tx:
        _change(tx, ids[: given.events * 8 // 10], 1, EventStatus.APPROVED)
    approved_s = time.perf_counter() - began
    with database.write() as tx:
        _change(tx, ids[: given.events * 7 // 10], 2, EventStatus.ACTIVE)
        _change(tx, ids[: given.events // 2], 3, EventStatus.SUCCEEDED, achieved=1.0)
        tx.execute(sa.text("ANALYZE capacity_events"))
    return {"events": given.events, "propose_s": proposed_s, "approve_s": approved_s}


def _change(
    tx: Transaction, ids: Sequence[int], generation: int, status: EventStatus, achieved: float | None = None
) -> None:
    changes = [
        EventChange(capacity_event_id=one, generation=generation, status=status, achieved=achieved) for one in ids
    ]
    change_events(tx, changes, actor="bench", now=_START)


def _proposal(number: int, services: int, regions: int) -> Proposal:
    region = f"region-{number % regions}"
    if number % 10 == 0:
        effect: CapacityDelta | TrafficShift = TrafficShift(
            product=f"product-{number // 10 % 20}",
            from_region=region,
            to_region=f"region-{(number + 1) % regions}",
            share=0.01,
        )
    else:
        service = f"service-{number // regions % services}"
        effect = CapacityDelta(service=service, region=region, hardware_type="compute", delta=2.0)
    return Proposal(
        effect=effect,
        writer=Writer.FLUX,
        reason="bench",
        starts_at=_START + _WEEK * (number % 50) / 25,
        placement_plan_id=1 + number // 20_000,
        action=f"action {number}",
    )


def _read(database: Database, runs: int) -> dict[str, object]:
    found: dict[str, object] = {}
    for what, read in _READS.items():
        taken = []
        for _ in range(runs):
            with database.snapshot() as tx:
                began = time.perf_counter()
                read(tx)
                taken.append(time.perf_counter() - began)
        found[what] = {name: round(of(taken), 4) for name, of in _FIGURES.items()}
    return found
