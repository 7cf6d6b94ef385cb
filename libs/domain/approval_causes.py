"""Find the approval limits of a region that a capacity request exceeds. They are the reasons why a person must approve
it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from libs.domain.approval import ApprovalLimits, Cause
from libs.domain.arrays import Indices
from libs.domain.cost_units import CostTable, most_cost_units
from libs.domain.fleet import FleetSnapshot
from libs.domain.reservation import PRIORITY_MIDDLE, CapacityUnit, Reservation, ReservationSpec
from libs.domain.rru_catalogue import RruCatalogue
from libs.domain.words import counted

_SHOWN_MAX = 8


def approval_causes(
    asked: FleetSnapshot,
    row: int,
    spec: ReservationSpec,
    before: Reservation | None,
    target: Indices,
    short_rru: float,
    limits: ApprovalLimits,
    costs: CostTable,
    had_cost_units: float,
    counted_cost_units: float,
) -> tuple[Cause, ...]:
    """Return a cause for each approval limit that the request exceeds. Return no cause if the request asks for no more
    than its reservation has.

    asked       the region as it would be if the reservation at `row` had `spec`, as solves see it
    before      the reservation as it is now, with the spec that solves see; None for a new one
    target      (S,) int   planned target of each server: index into the reservations
    short_rru   RRU that the reservation lacks under `target`
    costs       cost units of the region
    had_cost_units       the most cost units that the reservation may come to hold now; 0 for a new one
    counted_cost_units   the cost units that the request counts: the most by its spec, and no less than `target` holds
    """
    more = most_cost_units(spec, costs) > had_cost_units
    if before is not None and not before.scheduled and not more and not _asks_for_more(before.spec, spec):
        return ()
    return (
        *_too_high(spec, before),
        *_too_dear(spec, before),
        *_too_large(counted_cost_units, limits),
        *_too_large_a_share(asked, row, target, short_rru, limits),
    )


def own_rru_causes(spec: ReservationSpec, before: Reservation | None, catalogue: RruCatalogue) -> Iterator[Cause]:
    """Yield a cause if `spec` brings RRUs of its own to a region with a catalogue. The cause compares them with the
    nearest class.

    spec, before   as the owner gives them: RRU of whole servers
    """
    if not catalogue.classes or spec.workload_class is not None or spec.unit is CapacityUnit.COUNT:
        return
    if before is not None and before.spec.workload_class is None and dict(before.spec.rru) == dict(spec.rru):
        return
    found = catalogue.nearest(spec.rru)
    if found is None:
        yield Cause(reason="OwnRru", message="its RRUs are its own, of types that no class has", numbers={})
        return
    name, differs = found
    told = ", ".join(
        f"{t} {spec.rru[t]:g} ({differs[t]:+.0%})" if t in differs else f"{t} {spec.rru[t]:g} (not in it)"
        for t in sorted(spec.rru)[:_SHOWN_MAX]
    )
    more = f" and {len(spec.rru) - _SHOWN_MAX} more" if len(spec.rru) > _SHOWN_MAX else ""
    yield Cause(
        reason="OwnRru",
        message=f"its RRUs are its own; against the nearest class {name}: {told}{more}",
        numbers={f"differs_{t}": difference for t, difference in differs.items()},
    )


def _asks_for_more(before: ReservationSpec, spec: ReservationSpec) -> bool:
    """Return whether `spec` asks for more than `before`: more capacity or resources, survival of another kind of loss,
    a higher priority or cost of moves, or fewer RRUs per server.

    Fewer RRUs per server are more to ask for, because the same capacity then takes more servers.
    """
    return (
        spec.capacity_rru > before.capacity_rru
        or not set(spec.kinds_survived) <= set(before.kinds_survived)
        or spec.priority > before.priority
        or spec.move_cost > before.move_cost
        or any(amount > before.resources.get(name, 0.0) for name, amount in spec.resources.items())
        or any(rru < before.rru.get(hardware_type, np.inf) for hardware_type, rru in spec.rru.items())
    )


def _too_high(spec: ReservationSpec, before: Reservation | None) -> Iterator[Cause]:
    """Yield a cause if `spec` raises the priority above PRIORITY_MIDDLE. A person must approve this, because a
    reservation of high priority gets servers before other reservations.
    """
    has = PRIORITY_MIDDLE if before is None else max(PRIORITY_MIDDLE, before.spec.priority)
    if spec.priority > has:
        yield Cause(
            reason="AbovePriority",
            message=f"priority {spec.priority} is above the {has} that needs no approval",
            numbers={"priority_limit": float(has)},
        )


def _too_dear(spec: ReservationSpec, before: Reservation | None) -> Iterator[Cause]:
    """Yield a cause if `spec` raises the factor on moves above 1. A person must approve this, because the servers of
    other reservations are then moved instead.
    """
    has = 1.0 if before is None else max(1.0, before.spec.move_cost)
    if spec.move_cost > has:
        yield Cause(
            reason="AboveMoveCost",
            message=f"move_cost {spec.move_cost:g} is above the {has:g} that needs no approval",
            numbers={"move_cost_limit": has},
        )


def _too_large(most: float, limits: ApprovalLimits) -> Iterator[Cause]:
    if limits.size_cost_units is not None and most > limits.size_cost_units:
        asked = counted(most, "cost unit is", "cost units are")
        yield Cause(
            reason="AboveSize",
            message=f"{asked} above the {limits.size_cost_units:g} that need no approval",
            numbers={"size_limit_cost_units": limits.size_cost_units, "size_cost_units": most},
        )


def _too_large_a_share(
    asked: FleetSnapshot, row: int, target: Indices, short_rru: float, limits: ApprovalLimits
) -> Iterator[Cause]:
    """Yield a cause if the request may take too large a share of the servers of a hardware type. The cause names the
    type with the largest share.

    Count the servers of the type that `target` gives to the reservation. Later solves fill `short_rru` without asking a
    person again. So add, for each type, the number of servers of this type that would fill `short_rru` alone.
    """
    if limits.hardware_share is None:
        return
    T = len(asked.hardware_types)
    there = np.bincount(asked.servers.hardware_type, minlength=T)
    taken = np.bincount(asked.servers.hardware_type[target == row], minlength=T)
    rru = asked.shared_rru[row].T
    short = np.divide(short_rru, rru, out=np.zeros(rru.shape), where=rru > 0).max(0)
    taken = np.minimum(taken + np.ceil(short - 1e-9).astype(np.int64), there)
    share = np.divide(taken, there, out=np.zeros(T), where=there > 0)
    most = int(share.argmax())
    if share[most] > limits.hardware_share:
        hardware_type = str(asked.hardware_types[most])
        yield Cause(
            reason="AboveHardwareShare",
            message=f"it may take {taken[most]} of {there[most]} {hardware_type}, above the share of "
            f"{limits.hardware_share:g} that needs no approval",
            numbers={
                "hardware_share": float(share[most]),
                "hardware_share_limit": limits.hardware_share,
                "hardware_servers": float(taken[most]),
            },
        )
