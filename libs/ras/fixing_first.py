"""Solve as if the policy fixed first, where a sum of costs would give a plan that may not be committed.

The checks of a plan let the sum of penalties not grow, also if the policy does not fix first (ADR 0012).
"""

from __future__ import annotations

from dataclasses import replace

from libs.domain.fleet import FleetSnapshot
from libs.plan_check.hard_limits import excess
from libs.plan_check.regression import TOLERANCE


def fixing_first(snapshot: FleetSnapshot) -> FleetSnapshot:
    """Return the snapshot with a policy that fixes first."""
    return replace(snapshot, policy=replace(snapshot.policy, fix_first=True))


def repairing_lawfully(snapshot: FleetSnapshot) -> FleetSnapshot:
    """Return the snapshot with a policy that fixes first, if a hard limit is broken now.

    Solvers repair limits before any goal. Without `fix_first`, nothing else keeps a plan from a repair that makes
    reservations short.
    """
    if snapshot.policy.fix_first or excess(snapshot, snapshot.servers.target) <= TOLERANCE:
        return snapshot
    return fixing_first(snapshot)
