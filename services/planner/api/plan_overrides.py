"""`/v1/plan-overrides`: bounds that people set on the next plans, with a reason."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Self

from fastapi import APIRouter, Depends, Path, Query, Response
from fastapi.responses import JSONResponse
from pydantic import ConfigDict, Field, model_validator

from libs.domain.plan_override import OverrideKind, PlanOverride
from libs.domain.principal import Role
from libs.store.planner.plan_overrides import (
    create_override,
    list_overrides,
    load_override,
    lock_overrides,
    withdraw_override,
)
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.web.auth import Asking, require
from libs.web.context import Context, WebContext
from libs.web.cursors import Paging, next_cursor
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX, Moment, Number, PageOf, RequestModel, ResponseModel, SomeName
from libs.web.openapi import headers, problems
from libs.web.problems import Problem
from libs.web.reasons import GivenReason, ReasonQuery
from services.planner.override_check import require_consistent

router = APIRouter(prefix="/v1/plan-overrides", tags=["plan overrides"])
_NOUN = "plan-overrides"
_Id = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the override")]
_OPERATOR = [Depends(require(Role.OPERATOR))]
_EXAMPLE: dict[str, Any] = {
    "kind": "presence",
    "subject": "feed",
    "region": "east",
    "most": 0.4,
    "reason": "the east is short of network until March",
    "expires_at": "2027-03-01T00:00:00Z",
}


class PlanOverrideIn(RequestModel):
    """A bound: `least`, `most` or both."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})
    kind: OverrideKind = Field(description="capacity: of a service; presence: a product's share, 0 to 1")
    subject: SomeName = Field(description="The service or the product")
    region: SomeName
    hardware_type: SomeName | None = Field(
        default=None, description="For capacity: on this hardware type; if omitted, on the service's own"
    )
    least: Annotated[Number, Field(ge=0, le=1e15)] | None = Field(
        default=None, description="A capacity above the supply becomes a deficit of the plan"
    )
    most: Annotated[Number, Field(ge=0, le=1e15)] | None = Field(
        default=None, description="Of a capacity: without growth, which comes on top"
    )
    reason: GivenReason = Field(description="Why: shown wherever the override decides something")
    expires_at: Moment | None = Field(default=None, description="The override counts only before this moment")

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.least is None and self.most is None:
            raise ValueError("give least or most, or both")
        if self.least is not None and self.most is not None and self.least > self.most:
            raise ValueError("least is more than most")
        if self.kind is OverrideKind.PRESENCE and (self.hardware_type is not None or (self.least or 0) > 1):
            raise ValueError("a presence is a share of at most 1, and has no hardware_type")
        return self


class PlanOverrideOut(ResponseModel):
    """One override. It stays after its end, to explain earlier plans."""

    plan_override_id: int
    kind: OverrideKind
    subject: str
    region: str
    hardware_type: str | None
    least: float | None
    most: float | None
    reason: str
    in_force: bool
    expires_at: datetime | None
    created_by: str
    created_at: datetime
    withdrawn_by: str | None
    withdrawn_at: datetime | None
    withdrawn_reason: str | None
    generation: int


@router.post(
    "",
    operation_id="create_plan_override",
    status_code=201,
    response_model=PlanOverrideOut,
    dependencies=_OPERATOR,
    responses={
        201: {"headers": headers("ETag", "Location")},
        200: {"model": PlanOverrideOut, "description": "The answer to a dry run"},
        **problems(409),
    },
)
def post_override(
    body: PlanOverrideIn,
    write: Write,
    principal: Asking,
    context: Context,
    dry_run: Annotated[bool, Query(description="Check the override without keeping it: answers 200")] = False,
) -> Response:
    """Bound the next plans. Refuse an override that no plan could keep with the present inputs and overrides."""
    actor, now = principal.name, context.clock.now()
    if dry_run:
        with context.database.snapshot() as tx:
            imagined = _imagined(body, actor, now)
            require_consistent(tx, imagined, now=now)
        return JSONResponse(_out(imagined, context).model_dump(mode="json"))

    def effect(tx: Transaction) -> Answer:
        lock_overrides(tx)
        require_consistent(tx, _imagined(body, actor, now), now=now)
        made = create_override(tx, **body.model_dump(), created_by=actor, now=now)
        _audit(tx, "create", made, actor, body.reason, now)
        location = {"Location": f"/v1/plan-overrides/{made.plan_override_id}"}
        return Answer(201, _out(made, context), location | etag(made.generation))

    return write.once(effect)


@router.get("", operation_id="list_plan_overrides")
def get_overrides(
    context: Context,
    paging: Paging,
    in_force: Annotated[bool | None, Query(description="true: only overrides in force; false: the others")] = None,
) -> PageOf[PlanOverrideOut]:
    """List overrides, latest first."""
    before = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        page = list_overrides(tx, in_force=in_force, now=context.clock.now(), before=before, limit=paging.limit)
    items = [_out(one, context) for one in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get(
    "/{plan_override_id}",
    operation_id="get_plan_override",
    responses={200: {"headers": headers("ETag")}, **problems(404)},
)
def get_override(plan_override_id: _Id, context: Context, response: Response) -> PlanOverrideOut:
    """Return one override."""
    with context.database.snapshot() as tx:
        found = load_override(tx, plan_override_id)
    response.headers.update(etag(found.generation))
    return _out(found, context)


@router.post(
    "/{plan_override_id}/withdraw",
    operation_id="withdraw_plan_override",
    response_model=PlanOverrideOut,
    dependencies=_OPERATOR,
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def post_withdraw(
    plan_override_id: _Id,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
    reason: ReasonQuery = None,
) -> Response:
    """Withdraw an override. Later plans ignore it."""

    def effect(tx: Transaction) -> Answer:
        actor, now = principal.name, context.clock.now()
        if not withdraw_override(tx, plan_override_id, generation=expected, withdrawn_by=actor, reason=reason, now=now):
            raise Problem(409, "wrong_phase", f"Plan override {plan_override_id} was withdrawn already.")
        found = load_override(tx, plan_override_id)
        _audit(tx, "withdraw", found, actor, reason, now)
        return Answer(200, _out(found, context), etag(found.generation))

    return write.once(effect)


def _imagined(body: PlanOverrideIn, actor: str, now: datetime) -> PlanOverride:
    """Return the override as it would be stored, without an id."""
    return PlanOverride(
        **body.model_dump(),
        plan_override_id=0,
        created_by=actor,
        created_at=now,
        withdrawn_by=None,
        withdrawn_at=None,
        withdrawn_reason=None,
        generation=0,
    )


def _out(one: PlanOverride, context: WebContext) -> PlanOverrideOut:
    values: dict[str, Any] = {name: getattr(one, name) for name in PlanOverride.__dataclass_fields__}
    return PlanOverrideOut(**values, in_force=one.in_force(context.clock.now()))


def _audit(tx: Transaction, action: str, one: PlanOverride, actor: str, reason: str | None, now: datetime) -> None:
    audit.append(
        tx,
        actor=actor,
        action=action,
        subject_kind="plan_override",
        subject_id=one.plan_override_id,
        now=now,
        after={
            "kind": one.kind.value,
            "subject": one.subject,
            "region": one.region,
            "hardware_type": one.hardware_type,
            "least": one.least,
            "most": one.most,
        },
        reason=reason,
    )
