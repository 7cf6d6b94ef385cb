"""Who is asking, and what they may do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Role(StrEnum):
    """What a token may do: a chain of people's roles, and beside it the roles of machines, which only report."""

    VIEWER = "viewer"
    """Reads everything but tokens."""
    REQUESTER = "requester"
    """Asks for the owners that its token names."""
    OPERATOR = "operator"
    """Asks for anybody, approves, sets quotas and policies; stands in for the machines."""
    ADMIN = "admin"
    """Makes tokens, and says what needs an approval."""
    ALLOCATOR = "allocator"
    """Reports which servers run containers."""
    HEALTH = "health"
    """Reports unavailability events."""
    TELEMETRY = "telemetry"
    """Reports spans, use and traffic."""

    def includes(self, other: Role) -> bool:
        """Whether this role may do all that the other may."""
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
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The holder of a token. owners: for whom a requester may ask; an operator may for anybody."""

    token_id: int
    name: str
    role: Role
    owners: frozenset[str] = frozenset()

    def may_act_for(self, owner: str) -> bool:
        """Whether it may ask for this owner's capacity, and change or return it."""
        return self.role.includes(Role.OPERATOR) or (self.role.includes(Role.REQUESTER) and owner in self.owners)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """An API token as it is listed: everything but the secret, which is shown once.

    previous_until   until when the secret before the last rotation opens as well
    """

    token_id: int
    name: str
    role: Role
    owners: tuple[str, ...]
    created_at: datetime
    revoked_at: datetime | None
    previous_until: datetime | None
    generation: int
