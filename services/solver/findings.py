"""What a solve means for each reservation, written beside its plan."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from libs.domain.fleet import FREE, FleetSnapshot, Ints, TargetPlan
from libs.domain.reservation import Coverage, ReservationPhase
from libs.ras.shortage import describe_shortage, stock_of
from libs.store.coverage import load_coverage
from libs.store.database import Transaction
from libs.store.findings import record_findings
from libs.store.regions import load_region

_Finding = tuple[ReservationPhase, str, str, dict[str, float]]


def record_solve_findings(tx: Transaction, snapshot: FleetSnapshot, plan: TargetPlan, *, now: datetime) -> int:
    """Judge every reservation of the snapshot by the targets as they now are; how many requests became granted.

    The targets are read again, not taken from the plan: servers that changed under the solve were left alone.
    """
    q = snapshot.reservations
    coverage = load_coverage(tx, q.id.tolist(), "target")
    free = (plan.target == FREE) & snapshot.servers.lasting
    free_by_type = np.bincount(snapshot.servers.hardware_type[free], minlength=len(snapshot.hardware_types))
    stock = stock_of(snapshot)
    found = [
        _finding(snapshot, stock, row, coverage[int(reservation_id)], int(free_by_type[q.rru[row] > 0].sum()))
        for row, reservation_id in enumerate(q.id)
    ]
    return record_findings(
        tx,
        load_region(tx, snapshot.region).region_id,
        reservation_ids=q.id,
        observed_generations=q.generation,
        phases=[phase for phase, _, _, _ in found],
        reasons=[reason for _, reason, _, _ in found],
        messages=[message for _, _, message, _ in found],
        numbers=[numbers for _, _, _, numbers in found],
        now=now,
    )


def _finding(snapshot: FleetSnapshot, stock: Ints, row: int, covered: Coverage, free_servers: int) -> _Finding:
    numbers = {
        "capacity_rru": float(snapshot.reservations.capacity_rru[row]),
        "total_rru": covered.total_rru,
        "largest_msb_rru": covered.worst_msb_rru,
        "servers": float(covered.servers),
    }
    if covered.shortfall_rru == 0:
        message = f"Its {covered.servers} servers, once they are all there, cover {numbers['capacity_rru']:g} RRU."
        return ReservationPhase.GRANTED, "Granted", message, numbers
    short = describe_shortage(
        snapshot,
        row,
        stock=stock,
        short_rru=covered.shortfall_rru,
        worst_msb=covered.worst_msb,
        free_servers=free_servers,
    )
    return ReservationPhase.DEGRADED, short.reason, short.message, {**numbers, **short.numbers}
