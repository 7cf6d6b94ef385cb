"""Which of a region's approval limits a request exceeds. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from libs.domain.approval import ApprovalLimits, Cause
from libs.domain.fleet import FleetSnapshot, Indices
from libs.domain.reservation import Reservation, ReservationSpec


def approval_causes(
    asked: FleetSnapshot,
    row: int,
    spec: ReservationSpec,
    before: Reservation | None,
    target: Indices,
    short_rru: float,
    limits: ApprovalLimits,
) -> tuple[Cause, ...]:
    """Every limit that it exceeds; none for what asks for no more than it has.

    asked       the region with the reservation as `spec` says, at `row`; `before` is what it is now
    target      (S,) what it is to get, and short_rru what it lacks then
    """
    if before is not None and not before.scheduled and not _asks_for_more(before.spec, spec):
        return ()
    return (*_too_large(spec, limits), *_too_large_a_share(asked, row, target, short_rru, limits))


def _asks_for_more(before: ReservationSpec, spec: ReservationSpec) -> bool:
    """RRUs are an owner's own: with smaller ones the same capacity is more servers."""
    return (
        spec.capacity_rru > before.capacity_rru
        or (spec.survives_msb_loss and not before.survives_msb_loss)
        or any(rru < before.rru.get(hardware_type, np.inf) for hardware_type, rru in spec.rru.items())
    )


def _too_large(spec: ReservationSpec, limits: ApprovalLimits) -> Iterator[Cause]:
    if limits.size_rru is not None and spec.capacity_rru > limits.size_rru:
        yield Cause(
            reason="AboveSize",
            message=f"{spec.capacity_rru:g} RRU are above the {limits.size_rru:g} that need no approval",
            numbers={"size_limit_rru": limits.size_rru},
        )


def _too_large_a_share(
    asked: FleetSnapshot, row: int, target: Indices, short_rru: float, limits: ApprovalLimits
) -> Iterator[Cause]:
    """The type of which it may come to take the largest share, where that is above the limit.

    It takes what its plan gives it. What is short, solves will give it later without asking: of each type it may come
    to as many more as that type alone would need for it.
    """
    if limits.hardware_share is None:
        return
    T = len(asked.hardware_types)
    there = np.bincount(asked.servers.hardware_type, minlength=T)
    taken = np.bincount(asked.servers.hardware_type[target == row], minlength=T)
    rru = asked.reservations.rru[row]
    short = np.divide(short_rru, rru, out=np.zeros(T), where=rru > 0)
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
