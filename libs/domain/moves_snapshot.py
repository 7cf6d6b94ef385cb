"""The ground of the mover's decisions: the servers that wait for a move, and all else of one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from libs.domain.arrays import Bools, Floats, Ints
from libs.domain.departure_exceptions import StoredExceptions
from libs.domain.departure_wait import KnownWaits
from libs.domain.domain_kind import MSB_KIND
from libs.domain.grants_first import spares_buffer, yields
from libs.domain.holding import Holding, Place, ResourceHoldings
from libs.domain.move import MoveStep, RunningMove
from libs.domain.mover import Mover
from libs.domain.spare import IdleServers, Spare


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaitingServers:
    """N servers that are up, need a move, and have none: they are not where they should be, in doubt or unclean, or
    have another host profile than their reservation.

    id, generation, msb_id     (N,) int
    current_id, target_id      (N,) int    reservation ids; 0: none. A server in doubt may be in `current_id`
    in_doubt                   (N,) bool   the server's last step has no known outcome
    in_use                     (N,) bool
    other_profile              (N,) bool   the target's host profile differs from the server's
    unclean                    (N,) bool   the server left a reservation and was not cleaned since
    from_buffer                (N,) bool   the current reservation is a shared buffer
    to_buffer                  (N,) bool   the target is a shared buffer
    lent                       (N,) bool   a reservation has the server for the time of an exchange: it is `target_id`
    leaves_rru                 (N,) RRU    RRU that the current reservation loses when the server leaves
    domain_ids                 (N, J) int  domain of each further kind that reservations survive, or UNPLACED. If
                               reservations ask for resources, the last column is the hardware type
    """

    id: Ints
    generation: Ints
    msb_id: Ints
    current_id: Ints
    target_id: Ints
    in_use: Bools
    other_profile: Bools
    unclean: Bools
    in_doubt: Bools
    leaves_rru: Floats
    from_buffer: Bools
    to_buffer: Bools
    lent: Bools
    domain_ids: Ints

    def __len__(self) -> int:
        return len(self.id)

    @property
    def place(self) -> Ints:
        """Return the domains (N, L) of each server, as in `libs.domain.holding.Place`."""
        return np.column_stack([self.msb_id, self.domain_ids])

    def worth(self, row: int) -> tuple[Place, float]:
        """Return the domains of one server, and the RRU that its reservation loses when it leaves."""
        return (int(self.msb_id[row]), *self.domain_ids[row].tolist()), float(self.leaves_rru[row])

    @property
    def urgent(self) -> Bools:
        """Return which servers leave a shared buffer for a reservation, (N,): the replacements. A free server that is
        lent is as urgent, because others wait for it.
        """
        is_replacement = self.from_buffer & self.joins
        return np.asarray(is_replacement | (self.lent & (self.current_id == 0)))

    @property
    def runs(self) -> Bools:
        """Return which servers may run something of a reservation, (N,).

        A clean server of a shared buffer runs nothing, unless an allocator says that it is in use. One that an older
        version joined to its buffer is unclean.
        """
        return np.asarray((self.current_id != 0) & (~self.from_buffer | self.unclean | self.in_use))

    @property
    def joins(self) -> Bools:
        """Return which servers a reservation waits for, (N,). The others become free or go to a shared buffer."""
        return np.asarray((self.target_id != 0) & ~self.to_buffer)

    @property
    def stays(self) -> Bools:
        """Return which servers stay in their reservation or buffer, (N,): only their host profile changes."""
        return np.asarray((self.current_id == self.target_id) & (self.target_id != 0) & ~self.in_doubt)

    @property
    def need_steps(self) -> Bools:
        """Return which servers need a step, (N,). The others are clean, run nothing, and enter or leave a shared
        buffer: it only has to be recorded.
        """
        enters = self.joins | ((self.target_id != 0) & self.other_profile)
        return np.asarray(self.runs | self.in_doubt | self.unclean | enters)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MovesSnapshot:
    """The input of the mover's decision, read at one moment.

    waiting        servers that wait for a move; only the urgent servers if the bounds let no other move start
    msb_servers    msb_id -> number of servers
    msb_started    msb_id -> number of moves started in the last minute; empty if no bound limits this number
    holdings       holdings of the live reservations that a server must leave, without shared buffers
    resources      what those reservations hold of each resource that one of them asks for
    kinds          the kinds of loss, in the order of `Holding.survives`
    ungranted      ids of the reservations that were granted less than they ask for
    waiting_since  since this time, some server could not leave on every tick; None: no server waits
    spares         servers that are lent to reservations
    idle           servers that may be lent; None: not looked for, because no server waited on the last tick
    waits          the stored waits of servers that may not leave yet
    exceptions     the departures below *hold* that the plan needs; None: it needs none
    hurried        ids of the servers that operators want out of their reservation at once
    foretold_s     reservation -> seconds that the plan expects the servers lent to it to stay
    overstaying    ids of the servers that the region's condition says overstay
    """

    region: str
    region_id: int
    running: tuple[RunningMove, ...]
    waiting: WaitingServers
    msb_servers: Mapping[int, int]
    mover: Mover
    msb_started: Mapping[int, int] = field(default_factory=dict)
    holdings: tuple[Holding, ...] = ()
    resources: tuple[ResourceHoldings, ...] = ()
    kinds: tuple[str, ...] = (MSB_KIND,)
    ungranted: frozenset[int] = frozenset()
    waiting_since: datetime | None = None
    spares: tuple[Spare, ...] = ()
    idle: IdleServers | None = None
    waits: KnownWaits = field(default_factory=KnownWaits)
    exceptions: StoredExceptions | None = None
    hurried: frozenset[int] = frozenset()
    foretold_s: Mapping[int, float] = field(default_factory=dict)
    overstaying: frozenset[int] = frozenset()

    @property
    def pressing(self) -> Bools:
        """Return which of the waiting servers, (N,), may leave at *hold*, because a reservation waits for them."""
        patient = spares_buffer(*self._waits) & (self.waiting.current_id != 0)
        return np.asarray(self.waiting.joins & ~patient)

    @property
    def yielding(self) -> Bools:
        """Return which of the waiting servers, (N,), go from a request that waits to a granted reservation."""
        return np.asarray(self.waiting.joins & yields(*self._waits))

    def presses(self, move: RunningMove) -> bool:
        """Return whether the server of a running move is one of the `pressing`."""
        patient = move.from_reservation_id is not None and spares_buffer(*self._waits_of(move))
        return MoveStep.JOIN in move.steps and not patient

    def yields(self, move: RunningMove) -> bool:
        """Return whether the server of a running move is one of the `yielding`."""
        return MoveStep.JOIN in move.steps and bool(yields(*self._waits_of(move)))

    @property
    def _waits(self) -> tuple[Bools, Bools]:
        """Return whether the current reservation, and the target, of each waiting server is a request that waits."""
        ids = list(self.ungranted)
        return np.isin(self.waiting.current_id, ids), np.isin(self.waiting.target_id, ids)

    def _waits_of(self, move: RunningMove) -> tuple[bool, bool]:
        return move.from_reservation_id in self.ungranted, move.to_reservation_id in self.ungranted
