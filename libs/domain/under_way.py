"""The servers on their way to and from a reservation, and the time at which they are expected to have moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum

from libs.domain.arrays import Bools, Floats, Ints
from libs.domain.departure_wait import DepartureWait
from libs.domain.move import MoveStep
from libs.domain.mover import Mover
from libs.domain.region_condition import RegionCondition


class HeldBack(IntEnum):
    """The cause that holds one server back for a time that is not known."""

    NONE = 0
    DEAD_LETTER = 1
    """Its last move has failed for good. An operator must resolve that."""
    UNAVAILABLE = 2
    """It is down, or in maintenance."""
    SPARED = 3
    """Its reservation cannot spare it yet."""
    LATE = 4
    """Its step takes far longer than usual."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MovesUnderWay:
    """The N moves of a region that run or are still to start.

    msb                  (N,) int    row in `msb_servers`
    from_id, to_id       (N,) int    reservation ids; 0: none
    running              (N,) bool   the move has started
    began_s              (N,) s      start of the step under way, since 1970. It is in the future during a back-off
    held_back            (N,) int    values of HeldBack
    runs, joins, other_profile, unclean, in_doubt   (N,) bool   as in `needed_steps`, for moves that are to start
    takes                (N,) bool   the move takes the server from a reservation other than a shared buffer
    remaining            step -> (N,) bool, for running moves
    msb_servers          (M,) int    servers of each MSB
    amiss                the region's condition if its actuator cannot be used; None: it can
    waits                reservation id -> the wait of its servers
    step_s               median seconds of the steps that were measured
    """

    msb: Ints
    from_id: Ints
    to_id: Ints
    running: Bools
    began_s: Floats
    held_back: Ints
    runs: Bools
    joins: Bools
    other_profile: Bools
    unclean: Bools
    in_doubt: Bools
    takes: Bools
    remaining: Mapping[MoveStep, Bools]
    msb_servers: Ints
    mover: Mover
    amiss: RegionCondition | None = None
    waits: Mapping[int, DepartureWait] = field(default_factory=dict)
    step_s: Mapping[MoveStep, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Travellers:
    """The servers that move in one direction: to a reservation, or away from it.

    arrive        True: to the reservation; False: away from it
    waiting       servers among them that wait for an event without a time
    expected_at   time at which the last one is expected to have moved; None: some wait
    not_before    the same of those that do not wait: a lower bound for all; None: all wait
    causes        for each cause of a wait, words that begin with the number of its servers
    """

    arrive: bool
    servers: int
    waiting: int
    expected_at: datetime | None
    not_before: datetime | None
    causes: Sequence[str] = ()

    @property
    def message(self) -> str:
        """Return the movement as sentences for people."""
        verb = ("is on its way to it", "are on their way to it") if self.arrive else ("leaves it", "leave it")
        subject = f"1 server {verb[0]}" if self.servers == 1 else f"{self.servers} servers {verb[1]}"
        if self.expected_at is not None:
            return f"{subject}: by about {_time(self.expected_at)}, if no step fails."
        unknown = "The time is" if self.waiting == self.servers else "The time of the last one is"
        text = f"{subject}. {unknown} not known, because of {', and '.join(self.causes)}."
        return text if self.not_before is None else f"{text} It is not before {_time(self.not_before)}."


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderWay:
    """The servers on their way to a reservation, and from it. None: there are none."""

    arriving: Travellers | None = None
    leaving: Travellers | None = None

    @property
    def message(self) -> str:
        """Return both as sentences for people; empty if nothing is under way."""
        return " ".join(one.message for one in (self.arriving, self.leaving) if one is not None)


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
