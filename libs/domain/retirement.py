"""A retirement: a place or a server that will leave the fleet or change its type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from libs.domain.words import counted_are


class RetirementScope(StrEnum):
    """The extent of a retirement."""

    SERVER = "server"
    RACK = "rack"
    MSB = "msb"
    DATACENTER = "datacenter"


class RetirementKind(StrEnum):
    """The fate of the servers."""

    DECOMMISSION = "decommission"
    REFRESH = "refresh"
    """The servers come back as another hardware type."""


class RetirementStatus(StrEnum):
    """Status of a retirement. It is announced until it is due with its servers empty, or until it is cancelled."""

    ANNOUNCED = "announced"
    DONE = "done"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retirement:
    """A retirement, and the servers that are still obstacles to it. They are counted when the retirement is read.

    due_at     time by which its servers must be empty
    back_at    end of a refresh, until which the servers are away; None: the refresh takes no time
    servers    servers in the scope that are in the fleet
    held       reservation -> servers bound to it, by current binding or target
    moving     servers with a move under way
    booked     reservation that begins later -> servers that are booked for it
    """

    retirement_id: int
    region: str
    scope: RetirementScope
    scope_name: str
    kind: RetirementKind
    to_hardware_type: str | None
    reason: str
    due_at: datetime
    back_at: datetime | None
    status: RetirementStatus
    generation: int
    created_at: datetime
    finished_at: datetime | None
    servers: int
    held: Mapping[str, int]
    moving: int
    booked: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetirementCondition:
    """The state of a retirement: an identifier for clients, a sentence for people."""

    reason: str
    message: str


def condition_of(retirement: Retirement, now: datetime) -> RetirementCondition:
    """Return the state of the retirement, and what to do about it."""
    r = retirement
    if r.status is not RetirementStatus.ANNOUNCED:
        done = "left the fleet" if r.kind is RetirementKind.DECOMMISSION else f"became {r.to_hardware_type}"
        said = f"It {done}." if r.status is RetirementStatus.DONE else "Its servers stay in the fleet."
        return RetirementCondition(reason=r.status.value.capitalize(), message=said)
    late = now >= r.due_at
    when = f"was due at {r.due_at:%Y-%m-%d %H:%M}Z" if late else f"is due at {r.due_at:%Y-%m-%d %H:%M}Z"
    lost = ""
    if r.booked:
        lost = f" Servers of it were booked for later starts ({_named(r.booked)}): within a minute the condition Booked"
        lost += " of these reservations tells whether others can replace them."
    if not r.held and not r.moving:
        message = f"{r.scope_name} {when}; its {counted_are(r.servers, 'server')} empty, nothing is in the way.{lost}"
        return RetirementCondition(reason="Empty", message=message)
    names = _named(r.held)
    moving = f"{r.moving} of its servers have a move under way" if r.moving else ""
    still = f"still held: {names}" if names else ""
    message = f"{r.scope_name} {when} and is not empty: {'; '.join(filter(None, (still, moving)))}. "
    message += "Solves release its servers once other servers cover their reservations."
    if late:
        message += " It waits until then: add servers, shrink these reservations, or cancel the retirement."
    return RetirementCondition(reason="Overdue" if late else "Emptying", message=f"{message}{lost}")


def _named(servers: Mapping[str, int]) -> str:
    """Return the names of reservations with their servers, those with most first."""
    shown = sorted(servers.items(), key=lambda pair: (-pair[1], pair[0]))
    names = ", ".join(f"{name} {count}" for name, count in shown[:10])
    return names + (f" and {len(shown) - 10} more reservations" if len(shown) > 10 else "")
