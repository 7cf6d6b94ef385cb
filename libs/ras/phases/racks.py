"""The second phase: spread the reservations whose racks are worst (expression 2). Source: RAS, 3.5.2."""

from __future__ import annotations

from libs.assignment import Limits
from libs.domain.arrays import Indices
from libs.domain.fleet import FleetSnapshot
from libs.plan_check.churn import ChurnBudget
from libs.ras.evaluate import above_rack_limit
from libs.ras.phases.clock import Clock
from libs.ras.phases.refine import chosen_by, refine
from libs.ras.phases.report import PhaseReport
from libs.ras.server_classes import Index

NAME = "racks"


def spread_racks(
    snapshot: FleetSnapshot, target: Indices, budget: ChurnBudget | None, limits: Limits, clock: Clock, *, seed: int
) -> tuple[Indices, PhaseReport | None]:
    """Return the plan `target` (S,) with better racks, and a report; None if no reservation stands badly.

    The worst reservations are solved with all goals and with racks, while all other reservations keep their servers.
    """
    chosen, waiting = worst(snapshot, target)
    if not len(chosen):
        return target, None
    return refine(snapshot, target, chosen, waiting, budget, limits, clock, seed=seed, phase=NAME, term="rack_spread")


def worst(snapshot: FleetSnapshot, target: Indices) -> tuple[Index, int]:
    """Return the reservations with the most cost units above their rack limits, the worst first, and how many wait."""
    return chosen_by(snapshot, snapshot.units_per_rru * above_rack_limit(snapshot, target))
