"""Who is asking."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Role(StrEnum):
    """What a token may do, each including the one before."""

    VIEWER = "viewer"
    REQUESTER = "requester"
    OPERATOR = "operator"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The holder of a token."""

    token_id: int
    name: str
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """An API token as it is listed: everything but the secret, which is shown once."""

    token_id: int
    name: str
    role: Role
    created_at: datetime
    revoked_at: datetime | None
