"""Waves: the moves of a plan in the order in which they can be carried out, with an estimate of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from libs.domain.arrays import Bools, Floats, Ints, Names
from libs.domain.loss_axis import LossAxis
from libs.domain.move import MoveStep
from libs.domain.mover import MoverBounds
from libs.domain.wave_loans import WaveLoans

NONE = -1
"""The value for no reservation, in an array of rows of reservations."""
NEVER = -1
"""The value in an array of waves for a move that cannot go."""
FEW_SHARE = 0.02
"""Share of its promise that may leave a reservation at a time at the level *hold*. One server may always."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MovesToMake:
    """N moves, in the order in which the mover prefers them.

    server      (N,) int     row of the snapshot
    domain      (N, L) int   columns of the server on the axis of the promises; the first is its MSB
    source      (N,) int     row of the reservation that loses the server; NONE: it loses none, or one does for
                             which the guard does not ask: a shared buffer or a deleted one
    to          (N,) int     row of the reservation that gets the server; NONE: it becomes free
    leaves_rru  (N,) RRU     what `source` loses
    brings_rru  (N,) RRU     what `to` gets
    gone        (N,) bool    the server has left its reservation, or was asked to: what is held does not count it
    takes       (N,) bool    the move still has to take the server from a reservation other than a shared buffer
    seconds     (N,) s       expected time of the steps that remain
    needless    (N,) bool    the server leaves at *survive* alone: `to` is a shared buffer, or a request that waits
                             for servers of a granted reservation
    yields      (N,) bool    the server goes from a request that waits to a granted reservation
    """

    server: Ints
    domain: Ints
    source: Ints
    to: Ints
    leaves_rru: Floats
    brings_rru: Floats
    gone: Bools
    takes: Bools
    seconds: Floats
    needless: Bools
    yields: Bools

    def __len__(self) -> int:
        return len(self.server)

    @property
    def msb(self) -> Ints:
        """Return the MSB (N,) of each server."""
        return self.domain[:, 0]

    @property
    def presses(self) -> Bools:
        """Return which servers (N,) may leave at *hold*: a reservation waits for them that may ask that of theirs."""
        return np.asarray((self.to != NONE) & ~self.needless)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Promises:
    """R reservations, M MSBs and P domains that can be lost: what was promised, and what is held before the first wave.

    capacity_rru (R,) RRU     asked for, and promised as far as it was granted
    granted_rru  (R,) RRU     granted so far; less than the capacity while a request waits
    axis                      the P domains, and the losses that each reservation is to survive
    held_rru     (R, P) RRU   of servers that are up, have joined and are not leaving
    msb_servers  (M,) int     servers of each MSB
    """

    name: Names
    capacity_rru: Floats
    granted_rru: Floats
    axis: LossAxis
    held_rru: Floats
    msb_servers: Ints

    def __len__(self) -> int:
        return len(self.name)

    def level(self, held: Floats, rows: Ints, survive: Bools | bool) -> Floats:
        """Return the RRU (N,) that the reservations `rows` (N,) hold with `held` (N, P): at the level *survive*, or at
        *hold* where `survive` is False.
        """
        left_rru, total_rru = self.axis.left_rru(held, rows), self.axis.total_rru(held)
        return np.asarray(np.where(survive, left_rru, total_rru))


@dataclass(frozen=True, slots=True, kw_only=True)
class ForetoldLoan:
    """The servers that a plan expects to be lent to one reservation.

    servers   most of them at a time
    seconds   expected time from the first loan to the last return
    """

    reservation_id: int
    servers: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WavePlan:
    """The waves of N moves.

    wave       (N,) int    number of the wave in which the server leaves and joins, from 0; NEVER: it cannot go
    at_hold    (N,) bool   the server leaves at the level *hold*
    seconds    (W,) s      expected time of each wave
    below      (N,) bool   the server leaves although its reservation then falls below *hold*
    approved   number of waves that need no approval; all later ones wait for it
    below_rru  (R,) RRU    the most that each reservation holds below its capacity through them; 0: none is its
    loans      the servers that are lent meanwhile. A wave may consist of loans alone
    """

    wave: Ints
    at_hold: Bools
    seconds: Floats
    below: Bools
    approved: int
    below_rru: Floats
    loans: WaveLoans = field(default_factory=WaveLoans)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunningRows:
    """K running moves: the servers, and what remains to be done.

    server_id     (K,) int
    gone          (K,) bool         the server was asked to leave, or has left
    remaining     (K, steps) bool   in the order of MoveStep
    """

    server_id: Ints
    gone: Bools
    remaining: Bools


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MovingState:
    """The state that the time and order of moves rest on, beside a fleet snapshot. All of it is of one moment.

    id, current_id        (S,) int    servers in ascending order, and their current reservations; 0: none
    ready                 (S,) bool   up, not in maintenance, and without a failed move that waits for an operator
    unclean, in_doubt     (S,) bool
    profile               (S,) int    a number for the host profile
    reservation_profile   reservation id -> the number of its host profile
    buffers               ids of the shared buffers
    step_s                median seconds of the steps that were measured
    lent_to               (S,) int    reservation that has the server on loan, or gets it; 0: none. None: none is lent
    """

    id: Ints
    current_id: Ints
    ready: Bools
    unclean: Bools
    in_doubt: Bools
    profile: Ints
    reservation_profile: Mapping[int, int]
    buffers: frozenset[int]
    running: RunningRows
    bounds: MoverBounds = field(default_factory=MoverBounds)
    step_s: Mapping[MoveStep, float] = field(default_factory=dict)
    lent_to: Ints | None = None
