"""Who is asking."""

from __future__ import annotations

from dataclasses import dataclass
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
