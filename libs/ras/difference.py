"""Compare the present region with a what-if, which is an imagined region, before and after a solve of the what-if.

The answer is the targets that this solve gives to the servers of the what-if.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from libs.domain.arrays import Indices
from libs.domain.fleet import FREE, FleetSnapshot
from libs.ras.evaluate import Score, coverage_of, evaluate, short_of
from libs.ras.power_report import SHOWN_MAX, DomainPowerDifference, compare_power
from libs.ras.uplink_report import UplinksDifference, compare_uplinks

MOVES_SHOWN_MAX = 200
_SAME_RRU = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """The costs of three states, by term.

    now      the present region
    at_once  the what-if before any server moves
    after    the what-if with the answer
    """

    now: Score
    at_once: Score
    after: Score


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationDifference:
    """A reservation that the what-if changes, or that is short of capacity.

    In the names of fields, `now` means the present region. `at_once` means the what-if before any server moves, and
    `after` the what-if with the answer. A reservation that is new in the what-if has 0 in all fields of `now`.

    capacity_rru  the capacity in the what-if
    total_rru     the RRU of the servers of the reservation
    short_rru     the RRU that the reservation lacks
    gained, lost  number of servers that the answer brings to the reservation, and takes from it
    """

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
    """The numbers of servers of one hardware type that are up.

    In the names of fields, `now` means the present region, and `after` the what-if with the answer.

    bound  servers that are bound to a reservation
    free   servers without a reservation, except those that are announced for retirement
    """

    hardware_type: str
    bound_now: int
    free_now: int
    bound_after: int
    free_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMove:
    """A server that the answer moves from one reservation to another; None stands for no reservation (free)."""

    server: str
    from_reservation: str | None
    to_reservation: str | None
    in_use: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The effects of a what-if.

    cost            the costs by term
    reservations    the reservations that the what-if changes or that are short; None: omitted, as on a page of
                    simulations
    hardware_types  the servers of each hardware type
    moves           number of servers that the answer moves
    moves_shown     the first MOVES_SHOWN_MAX of these moves
    power           the first SHOWN_MAX domains with a limit on power (libs/ras/power_report.py); None: omitted, as on a
                    page of simulations and in reports of older versions
    power_limits    number of all domains with a limit on power
    uplinks         the racks with a limit on their uplinks; None: there are none, or the version was older
    short_of        reservation -> the resource or guest of which it is short, in words; a reservation that is short of
                    its own RRU is omitted. Empty in reports of older versions
    """

    cost: Costs
    reservations: tuple[ReservationDifference, ...] | None
    hardware_types: tuple[HardwareTypeDifference, ...]
    moves: int
    moves_shown: tuple[ShownMove, ...]
    power: tuple[DomainPowerDifference, ...] | None = None
    power_limits: int = 0
    uplinks: UplinksDifference | None = None
    short_of: Mapping[str, str] = field(default_factory=dict)


def difference(before: FleetSnapshot, imagined: FleetSnapshot, target: Indices) -> Difference:
    """Compare the present region `before` with the answer to the what-if `imagined`.

    target   (S',) the answer: a target for each server of `imagined`. These are the servers of `before`, and then the
             servers that the what-if adds
    """
    present = np.maximum(before.servers.target, FREE)
    stay = np.maximum(imagined.servers.target, FREE)
    moved = np.flatnonzero(target != stay)
    power = compare_power(before, imagined, target)
    reservations, of = _reservations(before, imagined, present, stay, target)
    return Difference(
        cost=Costs(now=evaluate(before, present), at_once=evaluate(imagined, stay), after=evaluate(imagined, target)),
        reservations=reservations,
        hardware_types=_hardware_types(before, imagined, present, target),
        moves=len(moved),
        moves_shown=tuple(_move(imagined, int(row), stay, target) for row in moved[:MOVES_SHOWN_MAX]),
        power=power[:SHOWN_MAX],
        power_limits=len(power),
        uplinks=compare_uplinks(before, imagined, target),
        short_of=of,
    )


def _reservations(
    before: FleetSnapshot, imagined: FleetSnapshot, present: Indices, stay: Indices, target: Indices
) -> tuple[tuple[ReservationDifference, ...], dict[str, str]]:
    """Return the reservations that the what-if changes, and those that are short in one of the three states. Also
    return `short_of`, by the latest state in which they are short.
    """
    was, shocked, becomes = coverage_of(before, present), coverage_of(imagined, stay), coverage_of(imagined, target)
    lacked, lacks, will_lack = (np.where(c.shortfall > _SAME_RRU, c.shortfall, 0.0) for c in (was, shocked, becomes))
    old, new = len(before.reservations), len(imagined.reservations)
    gained = np.bincount(target[(target >= 0) & (target != stay)], minlength=new)
    lost = np.bincount(stay[(stay >= 0) & (target != stay)], minlength=new)
    rows, of = [], {}
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
        shortages = (
            (row.short_rru_after, becomes, imagined),
            (row.short_rru_at_once, shocked, imagined),
            (row.short_rru_now, was, before),
        )
        scarce = next((short_of(snapshot, found, r) for lacking, found, snapshot in shortages if lacking), None)
        if scarce is not None:
            of[row.reservation] = scarce
    return tuple(rows), of


def _hardware_types(
    before: FleetSnapshot, imagined: FleetSnapshot, present: Indices, target: Indices
) -> tuple[HardwareTypeDifference, ...]:
    """Return the numbers of bound and free servers of every hardware type, now and after."""
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
