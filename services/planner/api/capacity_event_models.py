"""Capacity events in requests and answers."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from libs.domain.capacity_event import (
    CapacityDelta,
    CapacityEvent,
    Effect,
    EventStatus,
    Proposal,
    RecordedChange,
    TrafficShift,
    Writer,
)
from libs.web.model import ID_MAX, Moment, Number, RequestModel, ResponseModel, SomeName, Whole
from libs.web.reasons import GivenReason

EVENTS_MAX, ANTECEDENTS_MAX = 1000, 1000
AMOUNT_MAX, LEAD_TIME_H_MAX = 1e15, 10_000
EventId = Annotated[Whole, Field(ge=1, le=ID_MAX)]
Achieved = Annotated[Number, Field(ge=-AMOUNT_MAX, le=AMOUNT_MAX)]
_EXAMPLE: dict[str, Any] = {
    "events": [
        {
            "effect": {
                "kind": "capacity",
                "service": "store",
                "region": "east",
                "hardware_type": "compute",
                "delta": 40,
            },
            "writer": "person",
            "reason": "launch of the new store",
            "starts_at": "2026-12-01T00:00:00Z",
            "lead_time_h": 48,
        },
        {
            "effect": {"kind": "traffic", "product": "shop", "from_region": "west", "to_region": "east", "share": 0.1},
            "writer": "person",
            "reason": "launch of the new store",
            "starts_at": "2026-12-02T00:00:00Z",
            "follows": [0],
        },
    ]
}


class CapacityDeltaIn(RequestModel):
    """A change of a service's capacity in a region."""

    kind: Literal["capacity"]
    service: SomeName
    region: SomeName
    hardware_type: SomeName
    delta: Annotated[Number, Field(ge=-AMOUNT_MAX, le=AMOUNT_MAX)] = Field(
        description="Change of capacity, in units of the hardware type; not 0"
    )

    @model_validator(mode="after")
    def _changes(self) -> Self:
        if self.delta == 0:
            raise ValueError("delta must not be 0")
        return self

    def effect(self) -> Effect:
        """Return the effect."""
        return CapacityDelta(**self.model_dump(exclude={"kind"}))


class TrafficShiftIn(RequestModel):
    """A shift of a product's traffic from one region to another."""

    kind: Literal["traffic"]
    product: SomeName
    from_region: SomeName
    to_region: SomeName
    share: Annotated[Number, Field(gt=0, le=1)] = Field(description="Share of the product's worldwide traffic")

    @model_validator(mode="after")
    def _moves(self) -> Self:
        if self.from_region == self.to_region:
            raise ValueError("to_region is from_region")
        return self

    def effect(self) -> Effect:
        """Return the effect."""
        return TrafficShift(**self.model_dump(exclude={"kind"}))


class ProposalIn(RequestModel):
    """One event to propose."""

    effect: Annotated[CapacityDeltaIn | TrafficShiftIn, Field(discriminator="kind")]
    writer: Writer = Field(description="Kind of writer. flux: the orchestrator, for a plan; budget: a budgeting system")
    reason: GivenReason
    starts_at: Moment = Field(description="When the change is due")
    lead_time_h: Annotated[Number, Field(ge=0, le=LEAD_TIME_H_MAX)] = Field(
        default=0.0, description="Hours from asking for the capacity until it serves"
    )
    antecedents: Annotated[list[EventId], Field(max_length=ANTECEDENTS_MAX)] = Field(
        default_factory=list, description="Events that must succeed first"
    )
    follows: Annotated[list[Annotated[Whole, Field(ge=0, lt=EVENTS_MAX)]], Field(max_length=ANTECEDENTS_MAX)] = Field(
        default_factory=list, description="Positions of earlier events of this request that must succeed first"
    )
    placement_plan_id: EventId | None = Field(default=None, description="The plan of which the event is a part")
    action: SomeName | None = Field(default=None, description="The action of the plan that the event carries out")

    @model_validator(mode="after")
    def _of_a_plan(self) -> Self:
        if self.action is not None and self.placement_plan_id is None:
            raise ValueError("an action needs a placement_plan_id")
        return self

    def proposal(self) -> Proposal:
        """Return the proposal."""
        return Proposal(
            effect=self.effect.effect(),
            writer=self.writer,
            reason=self.reason,
            starts_at=self.starts_at,
            lead_time_h=self.lead_time_h,
            antecedents=tuple(self.antecedents),
            follows=tuple(self.follows),
            placement_plan_id=self.placement_plan_id,
            action=self.action,
        )


class ProposalsIn(RequestModel):
    """Events to propose, all or none."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})
    events: Annotated[list[ProposalIn], Field(min_length=1, max_length=EVENTS_MAX)]
    despite: Annotated[list[EventId], Field(max_length=EVENTS_MAX)] = Field(
        default_factory=list, description="Live events that the proposed events may contradict"
    )
    despite_reason: GivenReason | None = Field(
        default=None, description="Why the contradiction is right; needed with `despite`"
    )

    @model_validator(mode="after")
    def _explained(self) -> Self:
        if bool(self.despite) != (self.despite_reason is not None):
            raise ValueError("give despite and despite_reason together")
        return self


class EventDecision(StrEnum):
    """A status that an operator may set."""

    APPROVED = "approved"
    ACTIVE = "active"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"


class EventDecisionIn(RequestModel):
    """A decision about an event."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "cancelled", "reason": "the launch moved"}]})
    status: EventDecision
    reason: GivenReason | None = None
    despite_freezes: bool = Field(
        default=False, description="Activate the event in spite of the freezes that hold it now; needs a reason"
    )

    @model_validator(mode="after")
    def _explained(self) -> Self:
        if self.despite_freezes and self.reason is None:
            raise ValueError("despite_freezes needs a reason")
        return self


class EventOutcome(StrEnum):
    """A status that an executing system may report."""

    ACTIVE = "active"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class EventReportIn(RequestModel):
    """A report about an active event."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "succeeded", "achieved": 40}]})
    status: EventOutcome = Field(description="active: the event goes on, and `achieved` of it has happened")
    achieved: Achieved = Field(description="Amount that has happened so far, in the unit of the event, with its sign")
    reason: GivenReason | None = None


class EventEffectOut(ResponseModel):
    """The change that an event makes. Fields of the other kind are null."""

    kind: Literal["capacity", "traffic"]
    service: str | None = None
    region: str | None = None
    hardware_type: str | None = None
    delta: float | None = None
    product: str | None = None
    from_region: str | None = None
    to_region: str | None = None
    share: float | None = None


class CapacityEventOut(ResponseModel):
    """One event."""

    capacity_event_id: int
    effect: EventEffectOut
    writer: Writer
    author: str
    reason: str
    starts_at: datetime
    lead_time_h: float
    antecedents: list[int]
    placement_plan_id: int | None
    action: str | None
    proposed_at: datetime
    status: EventStatus
    achieved: float
    changed_at: datetime
    generation: int


class RecordedChangeOut(ResponseModel):
    """One change of an event's status."""

    generation: int
    status: EventStatus
    changed_by: str
    reason: str | None
    achieved: float
    changed_at: datetime


class CapacityEventWithHistory(CapacityEventOut):
    """One event, with its history from the first change on."""

    history: list[RecordedChangeOut]


class ProposedOut(ResponseModel):
    """The ids of the proposed events, in their order. Empty for a dry run."""

    capacity_event_ids: list[int]


def effect_out(effect: Effect) -> EventEffectOut:
    """Return the effect of an answer."""
    kind: Literal["capacity", "traffic"] = "capacity" if isinstance(effect, CapacityDelta) else "traffic"
    return EventEffectOut(kind=kind, **{name: getattr(effect, name) for name in type(effect).__dataclass_fields__})


def event_out(event: CapacityEvent) -> CapacityEventOut:
    """Return the event of an answer."""
    return CapacityEventOut(**_values(event))


def with_history(event: CapacityEvent, history: tuple[RecordedChange, ...]) -> CapacityEventWithHistory:
    """Return the event of an answer, with its history."""
    changes = [RecordedChangeOut.model_validate(one) for one in history]
    return CapacityEventWithHistory(**_values(event), history=changes)


def _values(event: CapacityEvent) -> dict[str, Any]:
    values = {name: getattr(event, name) for name in CapacityEvent.__dataclass_fields__}
    return values | {"effect": effect_out(event.effect), "antecedents": list(event.antecedents)}
