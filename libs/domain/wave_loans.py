"""Loans of servers in a plan of waves: what may be lent, and what is lent in which wave. See docs/designs/0038."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from libs.domain.arrays import Bools, Floats, Ints


def _none() -> Ints:
    return np.zeros(0, np.int64)


def _no_domains() -> Ints:
    return np.zeros((0, 1), np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaveLoans:
    """L loans of one server each, in W waves.

    reservation  (L,) int   row of the borrower
    domain       (L, K) int columns of the server on the axis of the promises; the first is its MSB
    rru          (L,) RRU   worth of the server to the borrower
    begins       (L,) int   wave in which the server joins: it counts from the next wave on; -1: it has joined already
    ends         (L,) int   wave in which it leaves; W: after the last wave; NEVER: its borrower cannot spare it
    foretold     (L,) bool  the plan itself lends it; False: it was lent before
    """

    reservation: Ints = field(default_factory=_none)
    domain: Ints = field(default_factory=_no_domains)
    rru: Floats = field(default_factory=lambda: np.zeros(0))
    begins: Ints = field(default_factory=_none)
    ends: Ints = field(default_factory=_none)
    foretold: Bools = field(default_factory=lambda: np.zeros(0, bool))

    def __len__(self) -> int:
        return len(self.reservation)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lendable:
    """C kinds of idle servers that a plan may lend, for R reservations. Servers of a kind are alike.

    domain              (C, K) int  columns on the axis of the promises; the first is the MSB
    hardware_type       (C,) int    index of the type
    buffer              (C,) int    row of the shared buffer that has them; NONE: they are free
    profile             (C,) int    a number for the host profile
    number              (C,) int    how many there are
    room                row of a shared buffer -> number of its servers that may be lent; absent: none
    type_rru            (R, types) RRU
    borrows             (R,) bool   False: a hard limit, or a shared buffer
    wanted_profile      (R,) int    the number of the reservation's host profile
    join_s, profile_s, return_s     expected seconds of the steps: to join, to change the host profile, to leave
    lent                loans that have begun: their `begins` is -1, or 0 if the server has not joined yet
    """

    domain: Ints
    hardware_type: Ints
    buffer: Ints
    profile: Ints
    number: Ints
    room: Mapping[int, int]
    type_rru: Floats
    borrows: Bools
    wanted_profile: Ints
    join_s: float
    profile_s: float
    return_s: float
    lent: WaveLoans = field(default_factory=WaveLoans)

    def rru(self, r: int) -> Floats:
        """Return the worth (C,) of a server of each kind to the reservation in row `r`; 0: of no use."""
        return np.asarray(self.type_rru[r, self.hardware_type], np.float64)

    def seconds(self, r: int, kind: int) -> float:
        """Return the expected seconds until a server of this kind has joined the reservation in row `r`."""
        return self.join_s + self.profile_s * float(self.profile[kind] != self.wanted_profile[r])
