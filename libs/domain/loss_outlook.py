"""The effect that the loss of each domain of a kind would have now: the facts, and the outlook for one domain."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from libs.domain.arrays import Bools, Floats, Ints, Names


def _no_rows() -> Ints:
    return np.zeros(0, np.int64)


def _no_table() -> Floats:
    return np.zeros((0, 0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossGround:
    """The facts about the M domains of one kind and R guaranteed reservations at one moment, guests included.

    A reservation that asks for resources has a further row for each: what it holds of the resource, as RRU of the
    capacity that the same share would be. It holds the least of its rows.

    kind              DATACENTER, MSB, RACK, or a further kind, such as network_block
    domain            (M,) str   names; of servers without a place of a further kind: `unplaced_name`
    datacenter        (M,) str   the datacenter of each; None for a further kind, whose domains may cross datacenters
    servers           (M,) int   servers in the fleet
    down              (M,) int   of them, those that are down for an unplanned reason
    in_use            (M,) int   those that run containers
    spare             (M,) int   those that are in a shared buffer and up
    reservation       (R,) str   names
    owner             (R,) str
    capacity_rru      (R,) RRU   asked for
    granted_rru       (R,) RRU   promised: what was granted of it
    survives          (R,) bool  whether it asks to survive the loss of any one domain of the kind
    held_rru          (R, M) RRU capacity of the servers that are up and have joined
    resource_of       (K,) int   the row of the reservation that asks for each resource
    resource_rru      (K, M) RRU what it holds of the resource
    """

    kind: str
    domain: Names
    datacenter: Names
    servers: Ints
    down: Ints
    in_use: Ints
    spare: Ints
    reservation: Names
    owner: Names
    capacity_rru: Floats
    granted_rru: Floats
    survives: Bools
    held_rru: Floats
    resource_of: Ints = field(default_factory=_no_rows)
    resource_rru: Floats = field(default_factory=_no_table)

    @property
    def rows_rru(self) -> Floats:
        """Return the (R + K, M) RRU of reservations, and then of resources."""
        return np.vstack([self.held_rru, self.resource_rru]) if len(self.resource_of) else self.held_rru

    def least(self, rows: Floats) -> Floats:
        """Return the (R, ...) least of the rows of each reservation, from (R + K, ...) in the order of `rows_rru`."""
        reservations = len(self.reservation)
        found = rows[:reservations].copy()
        np.minimum.at(found, self.resource_of, rows[reservations:])
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortAfterLoss:
    """A reservation that would hold less than its promise.

    capacity_rru     RRU that it asks for
    granted_rru      RRU that are promised: what was granted of them
    survives         whether it asks to survive the loss
    lost_rru         RRU that it holds in the domain
    missing_now_rru  RRU that it lacks of its promise before the loss
    missing_rru      RRU that it would lack of it after the loss
    """

    reservation: str
    owner: str
    survives: bool
    capacity_rru: float
    granted_rru: float
    lost_rru: float
    missing_now_rru: float
    missing_rru: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LossOutlook:
    """The outlook for the loss of one domain.

    datacenter     None for a domain of a further kind
    reservations   guaranteed reservations that hold servers in it
    broken         reservations in `short` that ask to survive the loss
    missing_rru    RRU that the loss adds to what reservations lack of their promises
    short          most missing RRU first
    """

    kind: str
    domain: str
    datacenter: str | None
    servers: int
    down: int
    in_use: int
    spare: int
    reservations: int
    broken: int
    missing_rru: float
    short: tuple[ShortAfterLoss, ...]
