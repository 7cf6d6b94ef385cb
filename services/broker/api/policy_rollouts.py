"""`/v1/policy-rollouts`: take a new policy of a region through shadow solves and a canary, and back."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Protocol

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import ConfigDict, Field

from libs.domain.policy_rollout import ComparisonStatus, PolicyRollout, RolloutStage, refusals
from libs.domain.principal import Principal, Role
from libs.domain.region import Region
from libs.reconcile.errors import StaleGeneration
from libs.store.fleet.policy_rollouts import list_rollouts, load_rollout
from libs.store.fleet.regions import load_region
from libs.store.fleet.snapshot import load_row_names
from libs.store.plans.policy_comparisons import count_comparisons, list_comparisons
from libs.store.platform.database import Transaction
from libs.store.regions.rollout_stages import create_rollout
from libs.web.approval_out import ApprovalOut
from libs.web.auth import Asking, require
from libs.web.context import Context, WebContext
from libs.web.cursors import Paging, next_cursor
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write, Writer
from libs.web.model import ID_MAX, Number, PageOf, RequestModel, ResponseModel, SomeName
from libs.web.openapi import headers, problems
from libs.web.policy_model import policy_change
from libs.web.problems import FieldError, invalid
from libs.web.reasons import GivenReason
from services.broker.policy_rollout_commands import accept_findings, ask_to_advance, take_back

router = APIRouter(prefix="/v1/policy-rollouts", tags=["regions"])
_NOUN, _COMPARISONS = "policy rollouts", "policy comparisons"
_OPERATOR = [Depends(require(Role.OPERATOR))]
RolloutId = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the roll-out")]
Why = Annotated[GivenReason, Field(description="Why, for the audit trail and for the approver")]


class RolledOutPolicy(policy_change(simulated=True)):  # type: ignore[misc]  # a base class made at import
    """The fields of the policy to change. The share of the shared buffers is none of them: a shadow cannot show it."""


class RolloutIn(RequestModel):
    """A change of a region's policy to roll out."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"region": "west", "policy": {"buffer_cost": 4}, "reason": "buffers grew by a tenth"}]
        }
    )
    region: SomeName
    policy: RolledOutPolicy
    reason: Why


class ReasonIn(RequestModel):
    """The reason of a command."""

    reason: Why


class AdvanceIn(ReasonIn):
    """The next stage of a roll-out."""

    share: Annotated[Number, Field(gt=0, lt=1)] | None = Field(
        default=None, description="Share of the reservations in the canary, or in a larger one; null: all of them"
    )


class FindingOut(ResponseModel):
    """Something that holds a roll-out."""

    reason: str = Field(description="Identifier to match on", examples=["OutsideHistory"])
    message: str = Field(description="For people")
    numbers: dict[str, float] = Field(description="The figures in the message")


class RolloutOut(ResponseModel):
    """The roll-out of a change of a region's policy."""

    policy_rollout_id: int
    region: str
    stage: RolloutStage
    change: dict[str, float | bool] = Field(description="New values of the changed fields")
    before: dict[str, float | bool] = Field(description="The values of the same fields when it began")
    share: float | None = Field(description="Share of the reservations in the canary; null before it")
    only_at_all: list[str] = Field(description="Changed fields that hold for a whole region: no canary shows them")
    held: list[FindingOut] = Field(description="What holds it; empty: it may advance")
    compared: int = Field(description="Comparisons with real solves in this stage")
    refusals: dict[Literal["canary", "all", "resume", "back"], str | None] = Field(
        description="Why each command cannot work now; null: it can. `canary` is one of a larger share"
    )
    started_by: str
    reason: str = Field(description="Why it was started")
    created_at: datetime
    stage_at: datetime = Field(description="Since when it is in this stage")
    generation: int


class ComparisonOut(ResponseModel):
    """A shadow solve beside a real solve of the same snapshot."""

    policy_comparison_id: int
    solve_run_id: int = Field(description="The real solve")
    stage: RolloutStage
    status: ComparisonStatus
    report: dict[str, Any] | None = Field(
        description="Both plans at the old prices (`at_old_prices`), servers that they bind differently, and seconds, "
        "memory and gap of both solves; null unless it is done"
    )
    findings: list[FindingOut] = Field(description="What held the roll-out because of it")
    error: str | None
    started_at: datetime
    finished_at: datetime | None


@router.post(
    "",
    operation_id="start_policy_rollout",
    status_code=201,
    response_model=RolloutOut,
    dependencies=_OPERATOR,
    responses={201: {"headers": headers("ETag", "Location")}, **problems(404, 409)},
)
def post_rollout(
    body: RolloutIn, expected: ExpectedGeneration, write: Write, principal: Asking, context: Context
) -> Response:
    """Start to roll out another policy: from now on, each solve of the region is solved with it too, in shadow.

    If-Match is the generation of the region. A region has at most one roll-out before the stage `all`.
    """
    change = body.policy.model_dump(exclude_unset=True)

    def effect(tx: Transaction) -> Answer:
        region = load_region(tx, body.region, lock=True)
        _require(region.generation, expected, "region", region.name)
        changed = {name: value for name, value in change.items() if value != getattr(region.policy, name)}
        if not changed:
            message = f"is the policy of {region.name} already: name a field to change"
            raise invalid(FieldError(field="policy", location="body", code="no_change", message=message))
        now, actor = context.clock.now(), principal.name
        rollout = create_rollout(tx, region, changed, actor=actor, reason=body.reason, now=now)
        location = {"Location": f"/v1/policy-rollouts/{rollout.policy_rollout_id}"}
        return Answer(201, _out(tx, rollout), {**location, **etag(rollout.generation)})

    return write.once(effect)


@router.get("", operation_id="list_policy_rollouts", responses=problems(404))
def get_rollouts(
    context: Context, paging: Paging, region: Annotated[SomeName, Query(description="Of this region")]
) -> PageOf[RolloutOut]:
    """List the roll-outs of a region, latest first."""
    before = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        page = list_rollouts(tx, load_region(tx, region).region_id, before=before, limit=paging.limit)
        items = [_out(tx, rollout) for rollout in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get(
    "/{policy_rollout_id}",
    operation_id="get_policy_rollout",
    responses={200: {"headers": headers("ETag")}, **problems(404)},
)
def get_rollout(policy_rollout_id: RolloutId, context: Context, response: Response) -> RolloutOut:
    """Return one roll-out."""
    with context.database.snapshot() as tx:
        found = _out(tx, load_rollout(tx, policy_rollout_id))
    response.headers.update(etag(found.generation))
    return found


@router.get("/{policy_rollout_id}/comparisons", operation_id="list_policy_comparisons", responses=problems(404))
def get_comparisons(policy_rollout_id: RolloutId, context: Context, paging: Paging) -> PageOf[ComparisonOut]:
    """List the shadow solves of a roll-out, latest first. At most 100 are kept."""
    before = paging.after(_COMPARISONS)
    with context.database.snapshot() as tx:
        load_rollout(tx, policy_rollout_id)
        page = list_comparisons(tx, policy_rollout_id, before=before, limit=paging.limit)
    items = [ComparisonOut.model_validate(one) for one in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_COMPARISONS, page.next_cursor))


@router.post(
    "/{policy_rollout_id}/advance",
    operation_id="advance_policy_rollout",
    status_code=202,
    response_model=ApprovalOut,
    dependencies=_OPERATOR,
    responses={202: {"headers": headers("Location")}, **problems(404, 409)},
)
def post_advance(
    policy_rollout_id: RolloutId,
    body: AdvanceIn,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
) -> Response:
    """Ask for the next stage: a canary, a larger canary, or all reservations. It changes real solves, so it waits for
    an approval.
    """

    def effect(tx: Transaction) -> Answer:
        region, rollout = _locked(tx, policy_rollout_id, expected)
        now, actor = context.clock.now(), principal.name
        approval = ask_to_advance(tx, region, rollout, body.share, actor=actor, reason=body.reason, now=now)
        location = {"Location": f"/v1/approvals/{approval.approval_id}"}
        return Answer(202, ApprovalOut.model_validate(approval), location)

    return write.once(effect)


@router.post(
    "/{policy_rollout_id}/resume",
    operation_id="resume_policy_rollout",
    response_model=RolloutOut,
    dependencies=_OPERATOR,
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def post_resume(
    policy_rollout_id: RolloutId,
    body: ReasonIn,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
) -> Response:
    """Accept the findings that hold a roll-out. It stays in its stage, and its shadow solves go on."""
    return _commanded(accept_findings, policy_rollout_id, body, expected, write, principal, context)


@router.post(
    "/{policy_rollout_id}/back",
    operation_id="take_back_policy_rollout",
    response_model=RolloutOut,
    dependencies=_OPERATOR,
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def post_back(
    policy_rollout_id: RolloutId,
    body: ReasonIn,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
) -> Response:
    """Take a roll-out back, from any stage and at once: the next solve has the policy from before it."""
    return _commanded(take_back, policy_rollout_id, body, expected, write, principal, context)


class _Command(Protocol):
    """A command to a roll-out. It takes the locked region and roll-out, and returns the roll-out after it."""

    def __call__(
        self, tx: Transaction, region: Region, rollout: PolicyRollout, /, *, actor: str, reason: str, now: datetime
    ) -> PolicyRollout: ...


def _commanded(
    command: _Command,
    policy_rollout_id: int,
    body: ReasonIn,
    expected: int,
    write: Writer,
    principal: Principal,
    context: WebContext,
) -> Response:
    """Answer a command that needs a reason and no approval with the roll-out after it."""

    def effect(tx: Transaction) -> Answer:
        region, rollout = _locked(tx, policy_rollout_id, expected)
        after = command(tx, region, rollout, actor=principal.name, reason=body.reason, now=context.clock.now())
        return Answer(200, _out(tx, after), etag(after.generation))

    return write.once(effect)


def _locked(tx: Transaction, policy_rollout_id: int, expected: int) -> tuple[Region, PolicyRollout]:
    """Return the region and the roll-out, locked in this order, as every change of a policy does.

    Raises NotFound, and StaleGeneration unless the roll-out is at `expected`.
    """
    region = load_region(tx, load_rollout(tx, policy_rollout_id).region, lock=True)
    rollout = load_rollout(tx, policy_rollout_id, lock=True)
    _require(rollout.generation, expected, "roll-out", policy_rollout_id)
    return region, rollout


def _require(found: int, expected: int, noun: str, identifier: object) -> None:
    if found != expected:
        raise StaleGeneration(noun, identifier, expected=expected, found=found)


def _out(tx: Transaction, rollout: PolicyRollout) -> RolloutOut:
    compared, region = count_comparisons(tx, rollout), load_region(tx, rollout.region)
    told: dict[str, Any] = {
        "held": [FindingOut.model_validate(one) for one in rollout.held],
        "compared": compared,
        "only_at_all": list(rollout.only_at_all),
        "refusals": refusals(rollout, region.policy, compared, load_row_names(tx, region.region_id)),
    }
    return RolloutOut(**{name: getattr(rollout, name) for name in RolloutOut.model_fields if name not in told} | told)
