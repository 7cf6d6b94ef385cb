"""What waits for a person, and what a person decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class ApprovalKind(StrEnum):
    """What is to be approved."""

    CAPACITY_REQUEST = "capacity_request"
    REGION_POLICY = "region_policy"


class ApprovalStatus(StrEnum):
    """pending -> approved | rejected; superseded when what was asked is changed or taken back."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One limit that is exceeded: an identifier, a sentence, and the figures behind it."""

    reason: str
    message: str
    numbers: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalLimits:
    """What a region's requests may do without a person; the defaults let everything through.

    size_rru        a larger capacity waits
    hardware_share  so does what may take more than this share of a hardware type's servers
    four_eyes       whoever asked cannot approve
    generation      0 where none were ever set
    """

    size_rru: float | None = None
    hardware_share: float | None = None
    four_eyes: bool = False
    generation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One thing that waits, or waited.

    reservation   that the request is about, by name, and its owner; None: it is about a policy
    change        what is asked: a request's spec, or the parts of a policy
    before        what is so now, of the same; None for a new reservation
    asked_by      the tokens that asked for it
    given_reason  why, in their words
    """

    approval_id: int
    region: str
    kind: ApprovalKind
    capacity_request_id: int | None
    reservation: str | None
    owner: str | None
    status: ApprovalStatus
    causes: tuple[Cause, ...]
    change: Mapping[str, object]
    before: Mapping[str, object] | None
    asked_by: tuple[str, ...]
    given_reason: str | None
    decided_by: str | None
    decision_reason: str | None
    created_at: datetime
    decided_at: datetime | None
    generation: int
