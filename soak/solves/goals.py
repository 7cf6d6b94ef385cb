"""Solve a region from nothing, with and without some of its goals, to show what each goal is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace

import numpy as np

from libs.domain.fleet import FREE, FleetSnapshot
from libs.ras.solve import plan_target_bindings
from soak.solves.figures import placement_of


def _without_affinity(snapshot: FleetSnapshot) -> FleetSnapshot:
    q = snapshot.reservations
    return replace(snapshot, reservations=replace(q, affinity_share=np.full_like(q.affinity_share, np.nan)))


def _without_spread(snapshot: FleetSnapshot) -> FleetSnapshot:
    q = snapshot.reservations
    free = replace(
        q,
        survives_msb_loss=np.zeros_like(q.survives_msb_loss),
        msb_spread_limit=np.full_like(q.msb_spread_limit, np.inf),
    )
    return replace(snapshot, reservations=free)


_GOALS: Mapping[str, Callable[[FleetSnapshot], FleetSnapshot]] = {
    "all goals": lambda snapshot: snapshot,
    "without datacenter shares": _without_affinity,
    "without spread and MSB loss": _without_spread,
}


def with_and_without(snapshot: FleetSnapshot) -> dict[str, dict[str, float]]:
    """Return the placement of a plan for each set of goals, all measured with the goals of `snapshot`.

    Each plan starts from a region whose servers are all free, so that no plan inherits what another one left.
    """
    s = snapshot.servers
    free = np.full_like(s.target, FREE)
    empty = replace(
        snapshot, servers=replace(s, target=free, current=free, in_use=np.zeros_like(s.in_use)), churned=None
    )
    return {
        name: asdict(placement_of(empty, plan_target_bindings(goals(empty)).plan.target))
        for name, goals in _GOALS.items()
    }
