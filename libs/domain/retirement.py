"""A rack or a server that is announced to leave the fleet, or to become another type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class RetirementScope(StrEnum):
    """How much is retired."""

    SERVER = "server"
    RACK = "rack"


class RetirementKind(StrEnum):
    """What becomes of the servers."""

    DECOMMISSION = "decommission"
    REFRESH = "refresh"
    """They come back as another hardware type."""


class RetirementStatus(StrEnum):
    """Announced until its servers are empty and it is due, or until somebody cancels it."""

    ANNOUNCED = "announced"
    DONE = "done"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retirement:
    """A row of the broker, and what is in the way of it, counted when it is read.

    due_at     by when its servers are to be empty
    back_at    until when refreshed servers are away; None: no longer than a moment
    servers    in the scope and in the fleet
    held       reservation -> servers that are bound to it, now or by target
    moving     servers with a move under way
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RetirementCondition:
    """How it stands: an identifier for clients, a sentence for people."""

    reason: str
    message: str


def condition_of(retirement: Retirement, now: datetime) -> RetirementCondition:
    """What is so and what to do about it."""
    r = retirement
    if r.status is not RetirementStatus.ANNOUNCED:
        done = "left the fleet" if r.kind is RetirementKind.DECOMMISSION else f"became {r.to_hardware_type}"
        said = f"It {done}." if r.status is RetirementStatus.DONE else "Its servers stay in the fleet."
        return RetirementCondition(reason=r.status.value.capitalize(), message=said)
    late = now >= r.due_at
    when = f"was due at {r.due_at:%Y-%m-%d %H:%M}Z" if late else f"is due at {r.due_at:%Y-%m-%d %H:%M}Z"
    if not r.held and not r.moving:
        return RetirementCondition(
            reason="Empty", message=f"{r.scope_name} {when}; its {r.servers} servers are empty, nothing is in the way."
        )
    shown = sorted(r.held.items(), key=lambda pair: (-pair[1], pair[0]))
    names = ", ".join(f"{name} {servers}" for name, servers in shown[:10])
    names += f" and {len(shown) - 10} more reservations" if len(shown) > 10 else ""
    moving = f"{r.moving} of its servers have a move under way" if r.moving else ""
    still = f"still held: {names}" if names else ""
    message = f"{r.scope_name} {when} and is not empty: {'; '.join(filter(None, (still, moving)))}. "
    message += "Solves give its servers up once their reservations are covered elsewhere."
    if late:
        message += " Nothing is pulled: add servers, shrink what is on it, or cancel the retirement."
    return RetirementCondition(reason="Overdue" if late else "Emptying", message=message)
