"""Note each solve of a run: its time, its gap, its moves and the plan before and after it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from libs.domain.arrays import Indices
from libs.domain.fleet import FREE, FleetSnapshot
from libs.domain.plan import SolveRun, SolveStatus
from libs.interchange.bundles.solve import load_bundle
from libs.store.plans.policy_comparisons import load_planned
from libs.store.plans.solve_runs import list_solve_runs
from libs.store.platform.database import Transaction
from soak.promise.platform import Platform
from soak.solves.figures import least_msb_share, moves_of, placement_of

_PAGE = 50
Row = Mapping[str, float]


@dataclass(slots=True)
class SolveNotes:
    """The solves that ended so far, oldest first.

    rows    a row of figures for each solve that ended with a plan or found nothing better
    ended   status -> number of solves
    last    the region as the last of these solves read it
    """

    rows: list[Row] = field(default_factory=list)
    ended: Counter[str] = field(default_factory=Counter)
    last: FleetSnapshot | None = None
    _seen: int = 0

    def note(self, platform: Platform) -> None:
        """Note the solves that have ended since the last call."""
        with platform.database.snapshot() as tx:
            found = list_solve_runs(tx, region=platform.region, after=None, limit=_PAGE).items
            runs = [run for run in reversed(found) if run.solve_run_id > self._seen]
            for run in runs:
                if run.status is SolveStatus.RUNNING:
                    break
                self._seen = run.solve_run_id
                self.ended[run.status.value] += 1
                if run.status in (SolveStatus.COMMITTED, SolveStatus.UNCHANGED):
                    began_s = (run.started_at - platform.clock.begins).total_seconds()
                    self.rows.append({"hour": round(began_s / 3600, 2)} | self._figures(tx, run))

    def _figures(self, tx: Transaction, run: SolveRun) -> dict[str, float]:
        assert run.report is not None
        report: Mapping[str, Any] = run.report
        assert run.bundle is not None
        self.last = snapshot = load_bundle(run.bundle).region.snapshot
        target = np.maximum(snapshot.servers.target, FREE)
        if run.plan_id is not None:
            target = _after(snapshot, target, load_planned(tx, run.plan_id))
        before, after = placement_of(snapshot, snapshot.servers.target), placement_of(snapshot, target)
        moves = moves_of(snapshot, target)
        gap = report["gap"]
        return {
            "reservations": len(snapshot.reservations),
            "processor_s": report["processor_s"],
            "wall_s": report["solve_s"],
            "gap": math.nan if gap is None else gap,
            "gap_in_preemptions": report["above_bound"] / snapshot.policy.move_cost_in_use,
            "broken_before": before.broken,
            "broken_after": after.broken,
            "moved_in_use": moves.in_use,
            "moved_idle": moves.idle,
            **report["buffers"],
            "largest_msb_share_before": before.largest_msb_share,
            "largest_msb_share_after": after.largest_msb_share,
            "least_msb_share": least_msb_share(snapshot),
            "outside_affinity_before": before.outside_affinity,
            "outside_affinity_after": after.outside_affinity,
            "servers_variation_before": before.servers_variation,
            "servers_variation_after": after.servers_variation,
        }


def _after(snapshot: FleetSnapshot, target: Indices, planned: list[tuple[str, str | None]]) -> Indices:
    """Return the targets (S,) with the changes of a plan: pairs of a server and its reservation, or None."""
    row_of = {str(name): row for row, name in enumerate(snapshot.servers.name)}
    number_of = {str(name): number for number, name in enumerate(snapshot.reservations.name)}
    changed = target.copy()
    for server, reservation in planned:
        changed[row_of[server]] = FREE if reservation is None else number_of[reservation]
    return changed
