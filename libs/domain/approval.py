"""Approvals: the requests and policies that wait for a person, and the decisions of people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from libs.domain.plan_execution import ExecutionState, RejectKind


class ApprovalKind(StrEnum):
    """The kind of thing that needs an approval."""

    CAPACITY_REQUEST = "capacity_request"
    REGION_POLICY = "region_policy"
    MAINTENANCE_OVERRIDE = "maintenance_override"
    RRU_CLASS = "rru_class"
    BELOW_HOLD = "below_hold"
    """Moves of a plan that leave a reservation below its promise for a while."""
    PLAN_ACTION = "plan_action"
    """An action of a placement plan under execution. The owner of the service may decide it."""


class ApprovalStatus(StrEnum):
    """Status of an approval: pending -> approved | rejected | superseded.

    An approval is superseded when its request changes or is withdrawn.
    """

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """An approval limit that a request exceeds: an identifier, a sentence, and the figures behind the sentence."""

    reason: str
    message: str
    numbers: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalLimits:
    """Limits above which a request in a region needs an approval. With the default limits, no request needs an
    approval.

    size_cost_units  a request that may come to hold more needs an approval; None: no limit
    hardware_share   taking more than this share of a hardware type's servers needs an approval; None: no limit
    four_eyes        True: a token that asked for a change cannot approve it, and maintenance against the rules waits
                     for the approval of another token
    policy_prices    True: every change of the region's policy waits for an approval, not only the shared buffers'
    generation       row generation; 0: no limits were ever set
    """

    size_cost_units: float | None = None
    hardware_share: float | None = None
    four_eyes: bool = False
    policy_prices: bool = False
    generation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """An approval, pending or decided.

    reservation   name of the reservation that the request is about; None: the approval is about something else
    owner         owner of that reservation; of an action, of the reservation that holds the service there
    plan_execution_id, position   of an action: the execution, and its position there
    execution_state   state of that execution
    reject_kind   of a rejected action: the kind of the reason
    change        the requested change: the spec of a request, the changed fields of a policy, the event of a
                  maintenance, the new version of a class of the RRU catalogue, the moves of a plan below *hold*, or
                  the resize of an action
    before        the present values of the same fields; None for a new reservation, maintenance and moves
    asked_by      names of the tokens that asked for the change
    given_reason  the requesters' reason, in their words
    superseded_by   id of the approval that took the place of this one; None if there is none
    """

    approval_id: int
    region: str
    kind: ApprovalKind
    capacity_request_id: int | None
    plan_execution_id: int | None
    position: int | None
    execution_state: ExecutionState | None
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
    reject_kind: RejectKind | None
    created_at: datetime
    decided_at: datetime | None
    superseded_by: int | None
    generation: int

    @property
    def about(self) -> str:
        """Return the words for the thing that it changes."""
        change = self.change
        match self.kind:
            case ApprovalKind.REGION_POLICY:
                return f"the policy of {self.region}"
            case ApprovalKind.MAINTENANCE_OVERRIDE:
                return f"maintenance of {change['scope']} {change['scope_name']} in {self.region}"
            case ApprovalKind.RRU_CLASS:
                return f"class {change['workload_class']} of {self.region}"
            case ApprovalKind.BELOW_HOLD:
                return f"moves of plan {change['plan_id']} below a promise in {self.region}"
            case ApprovalKind.PLAN_ACTION:
                return f"{change['action']} of execution {self.plan_execution_id}"
            case ApprovalKind.CAPACITY_REQUEST:
                return f"reservation {self.reservation}"

    @property
    def waited_s(self) -> float | None:
        """Return the seconds on the Clock from the question to the decision; None while it waits."""
        return None if self.decided_at is None else (self.decided_at - self.created_at).total_seconds()
