"""The effect that the loss of each MSB would have now: the facts, and the outlook for one MSB."""

from __future__ import annotations

from dataclasses import dataclass

from libs.domain.arrays import Bools, Floats, Ints, Names


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossGround:
    """The facts about M MSBs and R guaranteed reservations of a region at one moment.

    datacenter, msb   (M,) str   names
    servers           (M,) int   servers in the fleet
    down              (M,) int   of them, those that are down for an unplanned reason
    in_use            (M,) int   those that run containers
    spare             (M,) int   those that are in a shared buffer and up
    reservation       (R,) str   names
    owner             (R,) str
    capacity_rru      (R,) RRU   asked for
    granted_rru       (R,) RRU   promised: what was granted of it
    survives          (R,) bool  whether it asks to survive the loss of any one MSB
    held_rru          (R, M) RRU capacity of the servers that are up and have joined
    """

    datacenter: Names
    msb: Names
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortAfterLoss:
    """A reservation that would hold less than its promise.

    capacity_rru       RRU that it asks for
    granted_rru        RRU that are promised: what was granted of them
    survives_msb_loss  whether it asks to survive the loss
    lost_rru           RRU that it holds in the MSB
    missing_now_rru    RRU that it lacks of its promise before the loss
    missing_rru        RRU that it would lack of it after the loss
    """

    reservation: str
    owner: str
    survives_msb_loss: bool
    capacity_rru: float
    granted_rru: float
    lost_rru: float
    missing_now_rru: float
    missing_rru: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MsbOutlook:
    """The outlook for the loss of one MSB.

    reservations   guaranteed reservations that hold servers in it
    broken         reservations in `short` that ask to survive the loss
    missing_rru    RRU that the loss adds to what reservations lack of their promises
    short          most missing RRU first
    """

    datacenter: str
    msb: str
    servers: int
    down: int
    in_use: int
    spare: int
    reservations: int
    broken: int
    missing_rru: float
    short: tuple[ShortAfterLoss, ...]
