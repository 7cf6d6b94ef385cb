"""How approvals go: how long people take, and why they say no."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from libs.domain.approval import ApprovalKind, ApprovalStatus
from libs.domain.plan_execution import RejectKind, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Approvals of a kind that wait for the same people. `owner` is None for operators."""

    kind: ApprovalKind
    owner: str | None
    number: int
    oldest_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """Approvals of a kind that ended alike, and how long they waited, in seconds on the Clock."""

    kind: ApprovalKind
    status: ApprovalStatus
    number: int
    median_s: float
    p90_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonCount:
    """How often people rejected actions of a service, or changed their size, for the same kind of reason.

    verb         REJECT or EDIT
    reject_kind  None: they gave no kind
    """

    service: str
    verb: Verb
    reject_kind: RejectKind | None
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalFigures:
    """All figures of one moment. `decided` and `reasons` count from the start of a window on."""

    waiting: Sequence[Waiting]
    decided: Sequence[Decided]
    reasons: Sequence[ReasonCount]
