"""Spare servers: idle ones that a reservation has for the time of an exchange. See docs/designs/0027."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import numpy as np

from libs.domain.arrays import Ints

SPARES_MAX = 10
"""Spare servers that a reservation may have at a time."""
LENT_SHARE_MAX = 0.25
"""Share of a shared buffer's servers that may be away: the others can replace lost servers at once."""
LOAN_S_MAX = 4 * 3600.0
"""Seconds that a loan may last, unless an operator says otherwise."""
LOAN_S_MIN = 900.0
"""Seconds that a loan lasts at least, where its limit allows that."""
LOAN_TIMES = 3.0
"""A loan may last that many times as long as the plan expects: waves do not foresee failures."""
LOAN_S_LIMIT = 7 * 86400.0
"""Largest limit of a loan that an operator may set, in seconds."""
OVERSTAYS_S = 1800.0
"""Seconds after the end of a loan. A server that is still with its borrower then overstays."""


def loan_s(foretold_s: float | None, most_s: float | None = None) -> float:
    """Return the seconds after which a loan ends, even if its reservation still has servers to give.

    foretold_s   the time that the plan expects the loan to take; None: the plan did not foretell it
    most_s       the limit of the region's operators; None: LOAN_S_MAX
    """
    most_s = LOAN_S_MAX if most_s is None else most_s
    return most_s if foretold_s is None else min(most_s, max(LOAN_S_MIN, LOAN_TIMES * foretold_s))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IdleServers:
    """K servers that may be lent, in order of preference, and what they are worth to the reservations that wait. They
    are up, clean, and free or idle in a shared buffer.

    id, generation, msb_id   (K,) int
    hardware_type_id         (K,) int
    buffer_id                (K,) int    reservation id of its shared buffer; 0: it is free
    domain_ids               (K, J) int  domain of each further kind that reservations survive, or UNPLACED
    rru                      (reservation id, hardware type id) -> RRU; absent: of no use
    room                     shared buffer -> number of its servers that may be lent now; absent: none
    """

    id: Ints
    generation: Ints
    msb_id: Ints
    hardware_type_id: Ints
    buffer_id: Ints
    domain_ids: Ints
    rru: Mapping[tuple[int, int], float]
    room: Mapping[int, int]

    @property
    def place(self) -> Ints:
        """Return the domains (K, L) of each server, as in `libs.domain.holding.Place`."""
        return np.column_stack([self.msb_id, self.domain_ids])


class LoanState(StrEnum):
    """The way of a lent server."""

    JOINING = "joining"
    """On its way to the reservation."""
    LENT = "lent"
    """In the reservation."""
    RETURNING = "returning"
    """Its loan is over, and it has not left yet."""
    OVERSTAYS = "overstays"
    """Likewise, for longer than OVERSTAYS_S: its reservation cannot spare it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spare:
    """A server that is lent to a reservation, or whose loan is over and that has not left yet.

    has_joined    True: it is in the reservation
    usable        True: it is up and may move, the reservation exists, and no plan has another use for the server
    until         time at which the loan ends at the latest; None: not known, so it ends at once
    recalled_at   time at which the loan ended; None: it has not
    has_left      True: it is not in the reservation any more, nor on its way to it
    keeps         True: a plan gave it to the reservation for good
    is_up         False: it failed or is in maintenance, so it cannot leave now
    """

    server_id: int
    server: str
    generation: int
    reservation_id: int
    reservation: str
    has_joined: bool
    usable: bool
    until: datetime | None
    recalled_at: datetime | None = None
    has_left: bool = False
    keeps: bool = False
    is_up: bool = True

    @property
    def is_coming(self) -> bool:
        """Return whether the server is on its way to the reservation."""
        return self.usable and not self.has_joined and self.recalled_at is None

    def is_late(self, now: datetime) -> bool:
        """Return whether the loan has lasted longer than it may. If `until` is further away than any loan may last, the
        clock has jumped back since then, and the loan is late too.
        """
        return self.until is None or not now < self.until <= now + timedelta(seconds=LOAN_S_LIMIT)

    def overstays(self, now: datetime) -> bool:
        """Return whether the server could have left long ago, and its reservation cannot spare it."""
        over = self.recalled_at is not None and now - self.recalled_at > timedelta(seconds=OVERSTAYS_S)
        return over and self.is_up and not self.has_left and not self.keeps


class LoanAct(StrEnum):
    """The change of a loan."""

    LEND = "lend"
    """Lend it to a reservation."""
    RECALL = "recall"
    """End its loan. It goes to its target when its reservation can spare it."""
    FORGET = "forget"
    """Note that it is lent to no reservation any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loan:
    """A loan to begin or to end, at the generation of the server that was read.

    reservation_id   the borrower
    until            of a loan that begins: the time at which it ends at the latest
    """

    act: LoanAct
    server_id: int
    generation: int
    reservation_id: int
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoanView:
    """A loan, for people.

    home       reservation that the server belongs to, by its target; None: it is free
    since      time at which it was lent; None: an older version did not say
    """

    server_id: int
    server: str
    region: str
    reservation_id: int
    reservation: str
    home: str | None
    since: datetime | None
    until: datetime | None
    recalled_at: datetime | None
    state: LoanState


@dataclass(frozen=True, slots=True, kw_only=True)
class LoanSummary:
    """The loans of one reservation.

    servers        servers that are lent to it, or were and have not left
    since          time at which the first of them was lent; None: not known
    until          time at which the last loan ends at the latest; None: all are over
    returning      those whose loan is over and that have not left yet
    """

    servers: int
    since: datetime | None
    until: datetime | None
    returning: int

    @property
    def message(self) -> str:
        """Return the loans as a sentence for people."""
        lent = self.servers - self.returning
        parts = []
        if lent and self.until is not None:
            parts.append(f"{lent} for the time of an exchange, until {self.until:%Y-%m-%d %H:%M} UTC at the latest")
        if self.returning:
            parts.append(f"{self.returning} whose loan is over and that leave as soon as it can spare them")
        is_one = self.servers == 1
        return f"{self.servers} of its servers {'is' if is_one else 'are'} on loan: {', '.join(parts)}."
