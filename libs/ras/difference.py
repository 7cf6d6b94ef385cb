"""Compare the present region with a what-if, at once and after the solve that answers it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from libs.domain.arrays import Indices
from libs.domain.fleet import FREE, FleetSnapshot
from libs.ras.evaluate import Score, coverage_of, evaluate

MOVES_SHOWN_MAX = 200
_SAME_RRU = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Costs by term. now: the present region; at_once: as imagined, before any move; after: with the answer."""

    now: Score
    at_once: Score
    after: Score


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationDifference:
    """A reservation that differs or is short. A new one has nothing now. gained, lost: servers."""

    reservation: str
    capacity_rru_now: float
    capacity_rru: float
    total_rru_now: float
    total_rru_after: float
    short_rru_now: float
    short_rru_at_once: float
    short_rru_after: float
    gained: int
    lost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareTypeDifference:
    """Servers of a type that are up, bound and free. A server announced for retirement is not free."""

    hardware_type: str
    bound_now: int
    free_now: int
    bound_after: int
    free_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMove:
    """A server that the answer binds elsewhere; None: free."""

    server: str
    from_reservation: str | None
    to_reservation: str | None
    in_use: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The effects of a what-if.

    reservations   those that differ or are short; None: omitted, as on a page of simulations
    moves          servers that the answer binds elsewhere; moves_shown: the first MOVES_SHOWN_MAX of them
    """

    cost: Costs
    reservations: tuple[ReservationDifference, ...] | None
    hardware_types: tuple[HardwareTypeDifference, ...]
    moves: int
    moves_shown: tuple[ShownMove, ...]


def difference(before: FleetSnapshot, imagined: FleetSnapshot, target: Indices) -> Difference:
    """Compare the present region with the answer to a what-if.

    target   (S',) the answer, for the servers of `imagined`: those of `before` and then the added ones
    """
    present = np.maximum(before.servers.target, FREE)
    stay = np.maximum(imagined.servers.target, FREE)
    moved = np.flatnonzero(target != stay)
    return Difference(
        cost=Costs(now=evaluate(before, present), at_once=evaluate(imagined, stay), after=evaluate(imagined, target)),
        reservations=_reservations(before, imagined, present, stay, target),
        hardware_types=_hardware_types(before, imagined, present, target),
        moves=len(moved),
        moves_shown=tuple(_move(imagined, int(row), stay, target) for row in moved[:MOVES_SHOWN_MAX]),
    )


def _reservations(
    before: FleetSnapshot, imagined: FleetSnapshot, present: Indices, stay: Indices, target: Indices
) -> tuple[ReservationDifference, ...]:
    """Return the reservations that differ or are short."""
    was, shocked, becomes = coverage_of(before, present), coverage_of(imagined, stay), coverage_of(imagined, target)
    lacked, lacks, will_lack = (np.where(c.shortfall > _SAME_RRU, c.shortfall, 0.0) for c in (was, shocked, becomes))
    old, new = len(before.reservations), len(imagined.reservations)
    gained = np.bincount(target[(target >= 0) & (target != stay)], minlength=new)
    lost = np.bincount(stay[(stay >= 0) & (target != stay)], minlength=new)
    rows = []
    for r in range(new):
        known = r < old
        row = ReservationDifference(
            reservation=str(imagined.reservations.name[r]),
            capacity_rru_now=float(before.reservations.capacity_rru[r]) if known else 0.0,
            capacity_rru=float(imagined.reservations.capacity_rru[r]),
            total_rru_now=float(was.total[r]) if known else 0.0,
            total_rru_after=float(becomes.total[r]),
            short_rru_now=float(lacked[r]) if known else 0.0,
            short_rru_at_once=float(lacks[r]),
            short_rru_after=float(will_lack[r]),
            gained=int(gained[r]),
            lost=int(lost[r]),
        )
        short = max(row.short_rru_now, row.short_rru_at_once, row.short_rru_after)
        resized = abs(row.capacity_rru - row.capacity_rru_now) > _SAME_RRU
        if short > _SAME_RRU or resized or row.gained or row.lost:
            rows.append(row)
    return tuple(rows)


def _hardware_types(
    before: FleetSnapshot, imagined: FleetSnapshot, present: Indices, target: Indices
) -> tuple[HardwareTypeDifference, ...]:
    """Count the servers of every type."""
    T = len(imagined.hardware_types)

    def count(snapshot: FleetSnapshot, chosen: np.ndarray[Any, Any]) -> list[int]:
        return [int(n) for n in np.bincount(snapshot.servers.hardware_type[chosen], minlength=T)]

    bound_now = count(before, before.servers.available & (present >= 0))
    free_now = count(before, before.servers.lasting & (present < 0))
    bound_after = count(imagined, imagined.servers.available & (target >= 0))
    free_after = count(imagined, imagined.servers.lasting & (target < 0))
    return tuple(
        HardwareTypeDifference(
            hardware_type=str(name),
            bound_now=bound_now[t],
            free_now=free_now[t],
            bound_after=bound_after[t],
            free_after=free_after[t],
        )
        for t, name in enumerate(imagined.hardware_types)
    )


def _move(snapshot: FleetSnapshot, row: int, stay: Indices, target: Indices) -> ShownMove:
    def named(r: int) -> str | None:
        return str(snapshot.reservations.name[r]) if r >= 0 else None

    return ShownMove(
        server=str(snapshot.servers.name[row]),
        from_reservation=named(int(stay[row])),
        to_reservation=named(int(target[row])),
        in_use=bool(snapshot.servers.in_use[row]),
    )
