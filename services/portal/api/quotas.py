"""`/v1/quotas`: the limit on an owner's cost units in a region, and its use."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import ConfigDict, Field

from libs.domain.principal import Principal, Role
from libs.domain.quota import Quota
from libs.store.capacity.quotas import list_quotas, load_quota, set_quota
from libs.store.fleet.regions import load_region
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.web.auth import Asking, require
from libs.web.context import Context, WebContext
from libs.web.cursors import Paging, next_cursor
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import Number, Owner, PageOf, RequestModel, ResponseModel, SomeName
from libs.web.openapi import headers, problems
from libs.web.reasons import GivenReason, ReasonQuery
from services.portal.submit_requests import require_region

router = APIRouter(prefix="/v1/quotas", tags=["quotas"])
_NOUN = "quotas"
_ONE = "/{region}/{owner:path}"
"""The path of one quota. An owner's name may contain a slash, and servers decode %2F before they route."""
_OPERATOR = [Depends(require(Role.OPERATOR))]
RegionName = Annotated[SomeName, Path(description="Name of the region")]
OwnerName = Annotated[Owner, Path(description="Name of the owner")]


class QuotaIn(RequestModel):
    """A limit on what an owner may come to hold."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"limit_cost_units": 1000, "reason": "budget of 2027"}]})
    limit_cost_units: Annotated[Number, Field(ge=0, le=1e12)] = Field(
        description="Limit in cost units. A limit below the present use removes nothing"
    )
    reason: GivenReason | None = Field(default=None, description="Why, for the audit trail")


class QuotaOut(ResponseModel):
    """A limit, and what counts toward it."""

    region: str
    owner: str
    limit_cost_units: float | None = Field(description="null: no limit")
    used_cost_units: float = Field(
        description="Sum over the owner's reservations. Each counts the most that it may come to hold, with its "
        "buffers, or what it holds now if that is more"
    )
    pending_cost_units: float = Field(description="Cost units that undecided requests would add")
    generation: int = Field(description="0 if no limit was ever set; send it as If-Match")


@router.get("", operation_id="list_quotas")
def get_quotas(
    context: Context,
    paging: Paging,
    region: Annotated[SomeName | None, Query(description="Of this region only")] = None,
) -> PageOf[QuotaOut]:
    """List quotas in the order of their creation."""
    after = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        if region is not None:
            require_region(tx, region, location="query")
        page = list_quotas(tx, region, after=after, limit=paging.limit)
    items = [QuotaOut.model_validate(quota) for quota in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get(_ONE, operation_id="get_quota", responses={200: {"headers": headers("ETag")}, **problems(404)})
def get_quota(region: RegionName, owner: OwnerName, context: Context, response: Response) -> QuotaOut:
    """Return the limit and use of an owner, also without a limit."""
    with context.database.snapshot() as tx:
        quota = load_quota(tx, region, owner)
    response.headers.update(etag(quota.generation))
    return QuotaOut.model_validate(quota)


@router.put(
    _ONE,
    operation_id="put_quota",
    response_model=QuotaOut,
    dependencies=_OPERATOR,
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def put_quota(
    region: RegionName,
    owner: OwnerName,
    body: QuotaIn,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
) -> Response:
    """Set a limit. Later decisions on requests apply it."""

    def effect(tx: Transaction) -> Answer:
        return _set(tx, region, owner, body.limit_cost_units, body.reason, expected, principal, context)

    return write.once(effect)


@router.delete(
    _ONE,
    operation_id="delete_quota",
    response_model=QuotaOut,
    dependencies=_OPERATOR,
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def delete_quota(
    region: RegionName,
    owner: OwnerName,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
    reason: ReasonQuery = None,
) -> Response:
    """Remove a limit."""

    def effect(tx: Transaction) -> Answer:
        return _set(tx, region, owner, None, reason, expected, principal, context)

    return write.once(effect)


def _set(
    tx: Transaction,
    region: str,
    owner: str,
    limit_cost_units: float | None,
    reason: str | None,
    generation: int,
    principal: Principal,
    context: WebContext,
) -> Answer:
    before = load_quota(tx, region, owner)
    after = set_quota(tx, region, owner, limit_cost_units, generation=generation)
    audit.append(
        tx,
        actor=principal.name,
        action="set_quota",
        subject_kind="region",
        subject_id=load_region(tx, region).region_id,
        now=context.clock.now(),
        before=_told(before),
        after=_told(after),
        reason=reason,
    )
    return Answer(200, QuotaOut.model_validate(after), etag(after.generation))


def _told(quota: Quota) -> dict[str, object]:
    return {name: value for name, value in asdict(quota).items() if name in ("owner", "limit_cost_units")}
