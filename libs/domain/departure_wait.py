"""Waits: servers that their reservation cannot spare yet, and the event that would let them leave. See
docs/designs/0032.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

import numpy as np

from libs.domain.arrays import Ints
from libs.domain.domain_kind import MSB_KIND
from libs.domain.guest import unit_in_words


class WaitsFor(StrEnum):
    """The thing that would let the next server leave."""

    ARRIVALS = "Arrivals"
    """Servers are on their way to the reservation."""
    TURN = "Turn"
    """Other servers leave the reservation first, because few leave at a time at the level *hold*."""
    APPROVAL = "Approval"
    """The plan needs an approval, because reservations fall below *hold*. It is pending, rejected or over."""
    CAPACITY = "Capacity"
    """Nothing is on its way. A free server of a type that the reservation may use would help."""


class Level(StrEnum):
    """The level at which the guard refuses."""

    SURVIVE = "survive"
    HOLD = "hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class DepartureWait:
    """The servers of one reservation that wait to leave it.

    servers        servers that wait
    since          time since which the first of them waits
    level          HOLD: the next server is needed even while all domains are up; SURVIVE: only after the loss of one
    keeps_rru      RRU that the reservation must keep at that level: what it asks for, or what it has if that is less
    lacks_rru      RRU that it would lack without the next server: the least of all that wait
    resource       the resource, also one that stands for a guest, of which both are shares; None: they are RRU
    units          units of the resource for each of these RRU
    loss           SURVIVE: the kind of domain after whose loss it would lack that
    moves          servers on their way to it for good, with a move
    replacements   those of `moves` that come from a shared buffer
    loans          lent servers that are on their way to it
    queued         free servers with it as their target, whose moves the bounds of the mover hold back
    approval_id, approval_state   the approval that it waits for, and pending, rejected or over; None: another cause
    """

    reservation_id: int
    reservation: str
    servers: int
    since: datetime
    level: Level
    keeps_rru: float
    lacks_rru: float
    waits_for: WaitsFor
    resource: str | None = None
    units: float = 1.0
    loss: str | None = None
    moves: int = 0
    replacements: int = 0
    loans: int = 0
    queued: int = 0
    approval_id: int | None = None
    approval_state: str | None = None

    @property
    def message(self) -> str:
        """Return the wait as a sentence for people, and what ends it."""
        is_one = self.servers == 1
        loss = f" after the loss of any one {self.loss or MSB_KIND}" if self.level is Level.SURVIVE else ""
        lacks, keeps = self.lacks_rru * self.units, self.keeps_rru * self.units
        return (
            f"{self.servers} server{'' if is_one else 's'} of {self.reservation} may not leave yet: without the next "
            f"one it would hold {lacks:.4g} {self.unit} less than the {keeps:.6g} that it must keep{loss}. "
            f"{'It waits' if is_one else 'They wait'} since {self.since:%Y-%m-%d %H:%M} UTC for {self.cause}."
        )

    @property
    def unit(self) -> str:
        """Return the measure that the reservation would lack, as words for people."""
        return unit_in_words(self.resource)

    @property
    def cause(self) -> str:
        """Return the thing that the wait is for, as words for people."""
        if self.waits_for is WaitsFor.ARRIVALS:
            replaced = f" ({self.replacements} as replacements)" if self.replacements else ""
            parts = [f"{self.moves} on their way to it{replaced}"] if self.moves else []
            parts += [f"{self.loans} that are lent to it"] if self.loans else []
            parts += [f"{self.queued} that the bounds of the mover hold back"] if self.queued else []
            return f"servers: {', '.join(parts)}"
        if self.waits_for is WaitsFor.APPROVAL:
            then = {
                "pending": f"is pending: `plimsoll approve {self.approval_id}` lets them go",
                "rejected": "was rejected; capacity, or another plan, lets them go",
                "over": "was given, and its time has passed; the next solve asks again",
            }
            return f"approval {self.approval_id}, which {then[self.approval_state or 'pending']}"
        if self.waits_for is WaitsFor.TURN:
            return "others that leave first, few at a time"
        return "a free server of a type that it may use; none is on its way"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerWait:
    """The wait of one server: since when, for what, and its reservation's wait as a sentence."""

    since: datetime
    waits_for: WaitsFor
    message: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownWaits:
    """The waits that are stored.

    server_id       (K,) int   in ascending order
    reservation_id  (K,) int   the reservation that each waits to leave
    since_us        (K,) int   microseconds since 1970
    by_reservation  reservation id -> its wait
    """

    server_id: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    reservation_id: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    since_us: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    by_reservation: Mapping[int, DepartureWait] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaitsPlan:
    """The waits after a tick of the mover, and how the stored ones differ.

    now             reservation id -> its wait
    began           (B, 2) int   server id and reservation id
    ended           (E,) int     server ids
    changed         waits of reservations to write
    gone            ids of reservations of which no server waits any more
    """

    now: Mapping[int, DepartureWait] = field(default_factory=dict)
    began: Ints = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    ended: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    changed: tuple[DepartureWait, ...] = ()
    gone: tuple[int, ...] = ()

    @property
    def is_same(self) -> bool:
        """Return whether there is nothing to write."""
        return not (len(self.began) or len(self.ended) or self.changed or self.gone)
