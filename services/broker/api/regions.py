"""`/v1/regions`: regions, the policy that operators set, and a summary of a region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import ConfigDict, Field

from libs.domain.principal import Role
from libs.domain.readiness import Readiness
from libs.domain.region import Region
from libs.domain.region_condition import ConditionStatus, RegionCondition, RegionConditionType
from libs.domain.region_summary import WorstReservation
from libs.store.capacity.approval_limits import load_approval_limits
from libs.store.fleet.regions import list_regions, load_region
from libs.store.platform.database import Transaction
from libs.store.regions.region_conditions import load_conditions
from libs.store.regions.region_policies import update_policy
from libs.store.regions.region_summary import load_region_summary
from libs.web.approval_out import ApprovalOut
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import PageOf, RequestModel, ResponseModel, SomeName
from libs.web.openapi import headers, problems
from libs.web.policy_model import policy_change, policy_sent
from libs.web.reasons import GivenReason
from services.broker.api.server_counts_out import ServerCountsOut
from services.broker.policy_approval import ask_for_policy, fields_that_wait

router = APIRouter(prefix="/v1/regions", tags=["regions"])
_NOUN = "regions"
RegionName = Annotated[SomeName, Path(description="Name of the region")]


class PolicyOut(policy_sent()):  # type: ignore[misc]  # a base class made at import
    """The weights of the solver, in one arbitrary currency."""


class PolicyIn(policy_change()):  # type: ignore[misc]
    """The fields of the policy to change. Omitted fields stay."""


class RegionPatch(RequestModel):
    """A change of a region."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"policy": {"buffer_cost": 4}}]})
    policy: PolicyIn
    reason: GivenReason | None = Field(default=None, description="Why, for the audit trail and for the approver")


class RegionConditionOut(ResponseModel):
    """One condition of a region. The status True is the healthy one."""

    type: RegionConditionType
    status: ConditionStatus
    reason: str = Field(description="Identifier to match on")
    message: str = Field(description="For people: the finding, and what to do next")
    numbers: dict[str, object] = Field(description="The figures in the message")
    changed_at: datetime = Field(description="Since when it has this status")
    observed_at: datetime = Field(description="When reason, message or numbers last changed")


class RegionOut(ResponseModel):
    """A region."""

    name: str
    policy: PolicyOut
    target_plan_id: int | None = Field(description="The plan that heads the lineage of its target bindings")
    solve_every_s: float | None = Field(
        description="Seconds between solves that an operator chose; null: the platform's own. See /schedule"
    )
    conditions: list[RegionConditionOut] = Field(description="Findings of the region's loops; empty: they have not run")
    generation: int
    created_at: datetime


class HardwareTypeSummaryOut(ResponseModel):
    """The servers of one type."""

    hardware_type: str
    servers: int
    bound: int = Field(description="Bound to a reservation by target")
    free: int = Field(description="Bound to none by target, not down, and not announced for retirement")
    in_use: int
    to_move: int = Field(description="Servers whose current binding differs from their target")
    unavailable: int = Field(description="Down for an unplanned reason")
    in_maintenance: int


class RegionReadinessOut(ResponseModel):
    """The guaranteed reservations of a region when the platform last looked: the capacity that they held and that they
    asked for. A request counts whole, granted or not, except in `capacity_lost`.
    """

    watched_until: datetime = Field(description="When the platform last looked")
    ready: int = Field(description="Reservations that hold what they ask for")
    not_there_yet: int = Field(
        description="Reservations that do not hold it yet: new, changed, or waiting for their grant"
    )
    capacity_lost: int = Field(description="Reservations that lost servers and hold less than was granted")
    capacity_rru: float = Field(description="RRU asked for, granted or not")
    held_rru: float
    held_after_msb_loss_rru: float = Field(description="Held RRU if each reservation loses the MSB that gives it most")
    missing_rru: float = Field(description="RRU asked for that reservations do not hold")


class WorstReservationOut(ResponseModel):
    """A reservation that did not hold what it asks for, for some of the last 30 days."""

    reservation_id: int
    name: str
    availability_30d: float = Field(description="Share of the watched time in which it held what it asks for")
    watched_30d_s: float
    ready: ConditionStatus = Field(description="Whether it held that when the platform last looked")
    reason: Readiness
    capacity_rru: float = Field(description="RRU asked for, granted or not, at that look")
    granted_rru: float | None = Field(
        description="RRU of them that were granted, and so promised; null: an earlier version looked"
    )
    held_rru: float | None
    held_after_msb_loss_rru: float | None


class RegionChurnOut(ResponseModel):
    """Preemptions of servers in use beside the churn budget, as the last solve reported them."""

    used: int = Field(description="Preemptions in the 24 hours before the solve, and those under way")
    most: int = Field(description="Preemptions that the budget left to the solve")
    planned: int = Field(description="Preemptions that the solve planned")
    over: int = Field(description="Planned preemptions beyond the budget, to repair a promise")
    held_back: int = Field(description="Servers that the solve would have exchanged with a larger budget")


class ShortReservationOut(ResponseModel):
    """A reservation whose targets fall short of its capacity."""

    reservation_id: int
    name: str
    capacity_rru: float = Field(description="RRU asked for, granted or not")
    shortfall_rru: float = Field(description="RRU that the targets lack")
    message: str | None = Field(description="For people: why, by the last finding, and what to do; null: none says so")


class RegionSummaryOut(ResponseModel):
    """A region in a few numbers. RRU count the target bindings, except in readiness and worst."""

    hardware_types: list[HardwareTypeSummaryOut]
    reservations: int
    degraded: int = Field(description="Reservations whose targets fall short of their capacity")
    capacity_rru: float = Field(description="RRU asked for, granted or not, with shared buffers")
    embedded_buffer_rru: float = Field(
        description="Sum over reservations of the RRU in the domain whose loss takes most, of those that each survives"
    )
    domain_kinds: list[str] = Field(
        description="Further kinds of domain of which servers have places; survives_loss_of of a request may name them"
    )
    survived_kinds: list[str] = Field(
        description="Kinds of domain of which any reservation survives a loss: MSB, and further ones"
    )
    shared_buffer_rru: float
    shortfall_rru: float
    short: list[ShortReservationOut] = Field(
        description="At most ten reservations with the largest shortfalls, largest first"
    )
    places: list[ServerCountsOut] | None = Field(
        description="Servers by MSB and hardware type; null unless `places` asks for them"
    )
    readiness: RegionReadinessOut | None = Field(description="null: the platform has not looked yet")
    worst: list[WorstReservationOut] = Field(
        description="At most ten guaranteed reservations with the lowest availability, lowest first"
    )
    churn: RegionChurnOut | None = Field(description="null: no solve had a churn budget yet")


@router.get("", operation_id="list_regions")
def get_regions(context: Context, paging: Paging) -> PageOf[RegionOut]:
    """List regions in the order of their creation."""
    after = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        page = list_regions(tx, after=after, limit=paging.limit)
        conditions = load_conditions(tx, [region.region_id for region in page.items])
    items = [region_out(region, conditions[region.region_id]) for region in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get("/{region}", operation_id="get_region", responses={200: {"headers": headers("ETag")}, **problems(404)})
def get_region(region: RegionName, context: Context, response: Response) -> RegionOut:
    """Return one region."""
    with context.database.snapshot() as tx:
        found = load_region(tx, region)
        conditions = load_conditions(tx, [found.region_id])[found.region_id]
    response.headers.update(etag(found.generation))
    return region_out(found, conditions)


@router.patch(
    "/{region}",
    operation_id="update_region",
    response_model=RegionOut,
    dependencies=[Depends(require(Role.OPERATOR))],
    responses={
        200: {"headers": headers("ETag")},
        202: {
            "model": ApprovalOut,
            "headers": headers("Location"),
            "description": "The change needs approval, so the whole of it waits",
        },
        **problems(404, 409),
    },
)
def patch_region(
    region: RegionName,
    body: RegionPatch,
    write: Write,
    expected: ExpectedGeneration,
    principal: Asking,
    context: Context,
) -> Response:
    """Change the policy of a region. The next solve uses it. A change of the shared buffers first waits for an
    approval, and so does every change if the approval limits have `policy_prices`. An open roll-out is superseded.
    """

    def effect(tx: Transaction) -> Answer:
        before, change, now = (
            load_region(tx, region, lock=True),
            body.policy.model_dump(exclude_unset=True),
            context.clock.now(),
        )
        policy, actor = replace(before.policy, **change), principal.name
        waiting = fields_that_wait(before.policy, policy, load_approval_limits(tx, before.region_id))
        if waiting:
            approval = ask_for_policy(
                tx, before, change, waiting, generation=expected, actor=actor, reason=body.reason, now=now
            )
            location = {"Location": f"/v1/approvals/{approval.approval_id}"}
            return Answer(202, ApprovalOut.model_validate(approval), location)
        after = update_policy(tx, region, policy, generation=expected, actor=actor, reason=body.reason, now=now)
        conditions = load_conditions(tx, [after.region_id])[after.region_id]
        return Answer(200, region_out(after, conditions), etag(after.generation))

    return write.once(effect)


@router.get("/{region}/summary", operation_id="get_region_summary", responses=problems(404))
def get_region_summary(
    region: RegionName,
    context: Context,
    places: Annotated[bool, Query(description="Also count the servers of each MSB, by hardware type")] = False,
) -> RegionSummaryOut:
    """Count the region's servers by hardware type, and its reservations by state."""
    with context.database.snapshot() as tx:
        found = load_region_summary(tx, region)
    counts = {name: getattr(found, name) for name in RegionSummaryOut.model_fields}
    counts |= {"worst": [_worst(one) for one in found.worst], "places": found.places if places else None}
    return RegionSummaryOut.model_validate(counts)


def _worst(one: WorstReservation) -> WorstReservationOut:
    share, last = one.availability.share, one.last
    assert share is not None
    return WorstReservationOut(
        reservation_id=one.reservation_id,
        name=one.name,
        availability_30d=share,
        watched_30d_s=one.availability.watched_s,
        ready=last.readiness.status,
        reason=last.readiness,
        capacity_rru=last.capacity_rru,
        granted_rru=last.granted_rru,
        held_rru=last.held_rru,
        held_after_msb_loss_rru=last.held_after_msb_loss_rru,
    )


def region_out(region: Region, conditions: Sequence[RegionCondition]) -> RegionOut:
    """Return a region as clients see it."""
    return RegionOut(
        name=region.name,
        policy=PolicyOut.model_validate(region.policy),
        target_plan_id=region.target_plan_id,
        solve_every_s=region.solve_every_s,
        conditions=[RegionConditionOut.model_validate(condition) for condition in conditions],
        generation=region.generation,
        created_at=region.created_at,
    )
