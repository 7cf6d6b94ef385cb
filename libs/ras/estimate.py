"""Estimate the effect of a what-if without a solve: who would be short at once, and whether free servers are enough."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Bools, Floats, Indices, Ints
from libs.domain.fleet import FREE, FleetSnapshot
from libs.domain.reservation import ROUNDING
from libs.ras.eligible_rru import most_surviving
from libs.ras.evaluate import Coverage, coverage_of, short_of, short_rru
from libs.ras.free_servers import Handout, hand_out
from libs.ras.power_report import SHOWN_MAX, DomainPowerDifference, compare_power
from libs.ras.returnable_servers import returnable
from libs.ras.shortage import best_type, stock_of
from libs.ras.uplink_report import UplinksDifference, compare_uplinks

RESERVATIONS_SHOWN_MAX = 100
_SAME_RRU = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """The number of reservations that lack RRU, and the RRU that they lack in total."""

    reservations_short: int
    shortfall_rru: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationEstimate:
    """A reservation that the what-if resizes, or that is short of capacity.

    In the names of fields, `now` means the present region, and `at_once` the what-if before any server moves.
    `with_free` means the what-if after free servers were handed out (libs/ras/free_servers.py). A reservation that is
    new in the what-if has 0 in all fields of `now`.

    most_rru               the most that the region could give the reservation if there were no other; its affinity does
                           not count
    taken_servers          free servers that it gets
    missing_servers        further servers that it needs at least, if they are of `missing_hardware_type`
    missing_hardware_type  None: it needs none, or may use no type of the region
    needs_solve            whether only a solve can tell which free servers would help it. Then it gets none here, and
                           none is counted as missing
    spare_servers          servers that it could give back at least, if it is resized
    short_of               the resource or guest of which it is short at once, in words; None: it is short of its own
                           RRU, or not short
    """

    reservation: str
    capacity_rru_now: float
    capacity_rru: float
    most_rru: float
    short_rru_now: float
    short_rru_at_once: float
    short_rru_with_free: float
    taken_servers: int
    missing_servers: int
    missing_hardware_type: str | None
    needs_solve: bool
    spare_servers: int
    short_of: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareTypeEstimate:
    """The servers of one hardware type: free now and in the what-if, handed out, and missing."""

    hardware_type: str
    free_now: int
    free_at_once: int
    taken: int
    missing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The estimated effect of a what-if.

    reservations           the first RESERVATIONS_SHOWN_MAX of them; those that lose most come first
    reservations_affected  number of all reservations that the what-if resizes, or that are short
    power                  the first SHOWN_MAX domains with a limit on power; `after` is as `at_once`
    power_limits           number of all domains with a limit on power
    uplinks                the racks with a limit on their uplinks; None: there are none; `after` is as `at_once`
    taken_servers, missing_servers, spare_servers   sums over all reservations
    needing_solve          number of all reservations with needs_solve. Above 0, `with_free` is an upper bound
    """

    now: Shortfall
    at_once: Shortfall
    with_free: Shortfall
    reservations: tuple[ReservationEstimate, ...]
    reservations_affected: int
    hardware_types: tuple[HardwareTypeEstimate, ...]
    power: tuple[DomainPowerDifference, ...]
    power_limits: int
    uplinks: UplinksDifference | None
    taken_servers: int
    missing_servers: int
    needing_solve: int
    spare_servers: int


def estimate(before: FleetSnapshot, imagined: FleetSnapshot) -> Estimate:
    """Compare the present region `before` with the what-if `imagined` (libs/domain/what_if.py).

    The shortfalls now and at once are those of a simulation. The shortfall with free servers can be reached without
    taking a server from any reservation; a solve may find a better state.
    """
    present, stay = np.maximum(before.servers.target, FREE), np.maximum(imagined.servers.target, FREE)
    was, shocked = coverage_of(before, present), coverage_of(imagined, stay)
    given = hand_out(imagined, shocked)
    new = len(imagined.reservations) - len(before.reservations)
    had = np.pad(before.reservations.capacity_rru, (0, new))
    q = imagined.reservations
    short = _Short(
        now=np.pad(short_rru(before, was), (0, new)),
        at_once=short_rru(imagined, shocked),
        with_free=np.where(given.short_rru > ROUNDING * q.capacity_rru, given.short_rru, 0.0),
    )
    resized = np.abs(q.capacity_rru - had) > _SAME_RRU
    missing, kind = _missing(imagined, np.where(given.unknown, 0.0, short.with_free))
    spare = _spare(imagined, shocked, stay, resized)
    rows = np.flatnonzero(resized | short.anywhere).astype(np.int32)
    loss = short.with_free - short.now
    rows = rows[np.lexsort((rows, -(short.at_once - short.now)[rows], -loss[rows]))]
    shown = rows[:RESERVATIONS_SHOWN_MAX]
    most, power = most_surviving(imagined, shown), compare_power(before, imagined, stay)
    return Estimate(
        now=_total(short.now),
        at_once=_total(short.at_once),
        with_free=_total(short.with_free),
        reservations=tuple(
            ReservationEstimate(
                reservation=str(q.name[r]),
                capacity_rru_now=float(had[r]),
                capacity_rru=float(q.capacity_rru[r]),
                most_rru=float(most_rru),
                short_rru_now=float(short.now[r]),
                short_rru_at_once=float(short.at_once[r]),
                short_rru_with_free=float(short.with_free[r]),
                taken_servers=int(given.taken[r].sum()),
                missing_servers=int(missing[r]),
                missing_hardware_type=str(imagined.hardware_types[kind[r]]) if missing[r] else None,
                needs_solve=bool(given.unknown[r]),
                spare_servers=int(spare[r]),
                short_of=short_of(imagined, shocked, r) if short.at_once[r] else None,
            )
            for r, most_rru in zip(shown.tolist(), most, strict=True)
        ),
        reservations_affected=len(rows),
        hardware_types=_hardware_types(before, imagined, given, missing, kind),
        power=power[:SHOWN_MAX],
        power_limits=len(power),
        uplinks=compare_uplinks(before, imagined, stay),
        taken_servers=int(given.taken.sum()),
        missing_servers=int(missing.sum()),
        needing_solve=int(given.unknown.sum()),
        spare_servers=int(spare.sum()),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Short:
    """The RRU that each reservation of the what-if lacks, (R,) each."""

    now: Floats
    at_once: Floats
    with_free: Floats

    @property
    def anywhere(self) -> Bools:
        return np.asarray((self.now > 0) | (self.at_once > 0) | (self.with_free > 0))


def _total(short: Floats) -> Shortfall:
    return Shortfall(reservations_short=int((short > 0).sum()), shortfall_rru=float(short.sum()))


def _missing(snapshot: FleetSnapshot, short: Floats) -> tuple[Ints, Ints]:
    """Return the fewest servers that each reservation lacks, (R,), and their hardware type (R,), -1 for none."""
    number, kind = np.zeros(len(short), np.int64), np.full(len(short), -1, np.int64)
    stock, rru = stock_of(snapshot), snapshot.reservations.rru
    for r in np.flatnonzero((short > 0) & (rru > 0).any(1)).tolist():
        kind[r] = best_type(rru[r], stock)
        number[r] = math.ceil((short[r] - _SAME_RRU) / rru[r, kind[r]])
    return number, kind


def _spare(snapshot: FleetSnapshot, covered: Coverage, binding: Indices, resized: Bools) -> Ints:
    """Return the number of servers that each resized reservation could give back, (R,).

    Reservations that survive the loss of a further kind of domain give none, and those that ask for resources.
    """
    q, spare = snapshot.reservations, np.zeros(len(snapshot.reservations), np.int64)
    M, T = len(snapshot.topology.msbs), len(snapshot.hardware_types)
    cell = snapshot.server_msb.astype(np.int64) * T + snapshot.servers.hardware_type
    simple = ~q.survives_loss_of.any(1) & ~q.asks_resources
    for r in np.flatnonzero(resized & (covered.surviving > q.capacity_rru) & simple).tolist():
        held = np.bincount(cell[(binding == r) & snapshot.servers.lasting], minlength=M * T).reshape(M, T)
        spare[r] = returnable(held, q.rru[r], float(q.capacity_rru[r]), survives=bool(q.survives_msb_loss[r]))
    return spare


def _hardware_types(
    before: FleetSnapshot, imagined: FleetSnapshot, given: Handout, missing: Ints, kind: Ints
) -> tuple[HardwareTypeEstimate, ...]:
    T = len(imagined.hardware_types)
    unbound = before.servers.lasting & (before.servers.target < 0)
    free_now = np.bincount(before.servers.hardware_type[unbound], minlength=T)
    lacking = np.bincount(kind[kind >= 0], missing[kind >= 0], T)
    return tuple(
        HardwareTypeEstimate(
            hardware_type=str(name),
            free_now=int(free_now[t]),
            free_at_once=int(given.free[t]),
            taken=int(given.taken[:, t].sum()),
            missing=int(lacking[t]),
        )
        for t, name in enumerate(imagined.hardware_types)
    )
