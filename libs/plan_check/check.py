"""Check that a target plan is legal and safe. The checks follow the definitions and use no solver."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from libs.domain.arrays import Bools
from libs.domain.fleet import FREE, FleetSnapshot, TargetPlan
from libs.domain.violation import Violation
from libs.plan_check.churn import check_churn
from libs.plan_check.hard_limits import check_hard_limits
from libs.plan_check.power_limits import check_power
from libs.plan_check.regression import TOLERANCE, check_regression, shortfall_rru

SHOWN_MAX = 20
SHAPE = frozenset({"WrongParent", "WrongShape", "UnknownReservation"})
"""Reasons of violations that end the check, because no further check makes sense after them."""


class PlanRefusedError(ValueError):
    """A plan was refused. `violations` holds the reasons."""

    def __init__(self, violations: list[Violation]) -> None:
        self.violations = tuple(violations)
        shown = "; ".join(f"{v.reason}: {v.message}" for v in violations[:SHOWN_MAX])
        more = f"; and {len(violations) - SHOWN_MAX} more" if len(violations) > SHOWN_MAX else ""
        super().__init__(shown + more)


def check_plan(snapshot: FleetSnapshot, plan: TargetPlan) -> list[Violation]:
    """Return every violation of a plan for this snapshot; empty if the plan may be carried out.

    The plan must be legal (check_legal), must not leave a reservation worse off (check_regression) and must keep to the
    churn budget (check_churn).
    """
    illegal = check_legal(snapshot, plan)
    if any(v.reason in SHAPE for v in illegal):
        return illegal
    return [*illegal, *check_regression(snapshot, plan.target), *check_churn(snapshot, plan.target)]


def check_legal(snapshot: FleetSnapshot, plan: TargetPlan) -> list[Violation]:
    """Return the violations of the rules that hold for every policy (docs/adr/0013).

    - The plan covers the servers of this snapshot, and its parent is the snapshot's plan.
    - Every target is free, or is a reservation of the snapshot.
    - A server gets a new binding only if its hardware type has RRU there, and it is neither down nor leaving. A free
      one in planned maintenance gets none, and one that is booked for others neither. Keeping its binding is always
      legal.
    - No new binding breaks a hard limit of its reservation (check_hard_limits).
    - New bindings add no more power to a domain than its limit has room for (check_power).
    - A server that is down is not freed, because that helps no other reservation.
    - A server that is leaving is freed only if the servers that stay already cover its reservation.
    """
    shape = list(_shape(snapshot, plan))
    if shape:
        return shape
    servers, target = snapshot.servers, plan.target
    new = (target >= 0) & (target != servers.target)
    useless = new.copy()
    useless[new] = snapshot.reservations.rru[target[new], servers.hardware_type[new]] <= 0
    down = ~servers.available
    given_up = servers.leaving & (servers.target >= 0) & (target == FREE)
    there = np.where(servers.current == target, target, FREE)
    needed = np.append(shortfall_rru(snapshot, there) > TOLERANCE, False)[np.maximum(servers.target, FREE)]
    return [
        *_servers(snapshot, plan, useless, "Ineligible", "its hardware type is of no use there"),
        *_servers(snapshot, plan, new & down, "Unavailable", "it is down"),
        *_servers(snapshot, plan, new & servers.drained, "Drained", "it is in maintenance"),
        *_servers(snapshot, plan, new & servers.booked, "Booked", "it is booked for a reservation that begins later"),
        *_servers(snapshot, plan, new & servers.leaving, "Leaving", "it will be retired"),
        *check_hard_limits(snapshot, target),
        *check_power(snapshot, target),
        *_servers(
            snapshot, plan, given_up & needed, "GivenUpTooEarly", "its reservation is not covered without it yet"
        ),
        *_servers(
            snapshot,
            plan,
            down & ~servers.leaving & (servers.target >= 0) & (target == FREE),
            "TakenWhileDown",
            "it is down, so freeing it helps no reservation",
        ),
    ]


def require_clean(violations: list[Violation]) -> None:
    """Raise PlanRefusedError if there is any violation."""
    if violations:
        raise PlanRefusedError(violations)


def _shape(snapshot: FleetSnapshot, plan: TargetPlan) -> Iterator[Violation]:
    S, R = len(snapshot.servers), len(snapshot.reservations)
    if plan.parent_plan_id != snapshot.target_plan_id:
        yield Violation(
            reason="WrongParent",
            message=f"it follows {plan.parent_plan_id}, the snapshot's targets are of plan {snapshot.target_plan_id}",
        )
    if plan.target.shape != (S,) or not np.issubdtype(plan.target.dtype, np.integer):
        yield Violation(
            reason="WrongShape", message=f"{plan.target.dtype} targets of shape {plan.target.shape} for {S} servers"
        )
        return
    unknown = (plan.target < FREE) | (plan.target >= R)
    for row in np.flatnonzero(unknown):
        yield Violation(
            reason="UnknownReservation",
            message=f"{snapshot.servers.name[row]} is bound to {plan.target[row]}, which is not a reservation",
            server=str(snapshot.servers.name[row]),
        )


def _servers(snapshot: FleetSnapshot, plan: TargetPlan, bad: Bools, reason: str, why: str) -> Iterator[Violation]:
    for row in np.flatnonzero(bad):
        server, index = str(snapshot.servers.name[row]), int(plan.target[row])
        reservation = str(snapshot.reservations.name[index]) if index >= 0 else None
        goal = f"bound to {reservation}" if reservation is not None else "freed"
        yield Violation(
            reason=reason, message=f"{server} may not be {goal}: {why}", server=server, reservation=reservation
        )
