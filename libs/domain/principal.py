"""The client behind a request, and its permissions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Role(StrEnum):
    """The permissions of a token: a chain of roles for people, and separate roles for machines, which only report."""

    VIEWER = "viewer"
    """Reads everything but tokens."""
    REQUESTER = "requester"
    """Requests capacity for the owners that its token names."""
    OPERATOR = "operator"
    """Requests capacity for every owner, approves, sets quotas and policies, and may do all that the machines may."""
    ADMIN = "admin"
    """Makes tokens, and sets the approval limits."""
    ALLOCATOR = "allocator"
    """Reports which servers run containers."""
    HEALTH = "health"
    """Reports unavailability events."""
    TELEMETRY = "telemetry"
    """Reports spans, usage and traffic."""
    EXECUTOR = "executor"
    """Reports what came of active capacity events."""

    def includes(self, other: Role) -> bool:
        """Return whether this role includes all permissions of the other."""
        return other in _INCLUDED[self]


_VIEWER = frozenset({Role.VIEWER})
_OPERATOR = frozenset(Role) - {Role.ADMIN}
_INCLUDED = {
    Role.VIEWER: _VIEWER,
    Role.REQUESTER: _VIEWER | {Role.REQUESTER},
    Role.OPERATOR: _OPERATOR,
    Role.ADMIN: _OPERATOR | {Role.ADMIN},
    Role.ALLOCATOR: _VIEWER | {Role.ALLOCATOR},
    Role.HEALTH: _VIEWER | {Role.HEALTH},
    Role.TELEMETRY: _VIEWER | {Role.TELEMETRY},
    Role.EXECUTOR: _VIEWER | {Role.EXECUTOR},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The client behind a request. A requester may act only for `owners`; an operator may act for every owner.

    token_id     its token; None: it logged in at an issuer
    name         the actor of its changes: the token's name, or the person who logged in
    person       the person behind the name, whom four eyes compare
    session_id   the session in which it uses the token; None: the request carried the token itself
    lacking      a sentence about what its issuer left out, for answers that refuse; "": nothing
    """

    token_id: int | None
    name: str
    person: str
    role: Role
    owners: frozenset[str] = frozenset()
    session_id: int | None = None
    lacking: str = ""

    @property
    def holder(self) -> int | str:
        """The key of what belongs to this client alone: the id of its token, or its person."""
        return self.name if self.token_id is None else self.token_id

    def may_act_for(self, owner: str) -> bool:
        """Return whether the holder may request, change and return capacity of `owner`."""
        return self.role.includes(Role.OPERATOR) or (self.role.includes(Role.REQUESTER) and owner in self.owners)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """An API token as listed: without the secret, which is shown once.

    person           the person who holds it, as four eyes compare them; None: the token stands for itself
    previous_until   time until which the secret before the last rotation is still valid
    """

    token_id: int
    name: str
    role: Role
    owners: tuple[str, ...]
    person: str | None
    created_at: datetime
    revoked_at: datetime | None
    previous_until: datetime | None
    generation: int
