"""`/v1/movers`: the bounds of a region's mover, its pause, and the state of its actuator."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import Field

from libs.domain.mover import Mover, MoverBounds
from libs.domain.principal import Role
from libs.domain.spare import LOAN_S_LIMIT, LOAN_S_MAX
from libs.reconcile.jobs import MOVE
from libs.store.moves.movers import list_movers, load_mover, pause_mover, resume_mover, set_bounds
from libs.store.platform.database import Transaction
from libs.store.platform.jobs import enqueue
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import Number, PageOf, RequestModel, ResponseModel, SomeName, Whole
from libs.web.openapi import headers, problems

router = APIRouter(prefix="/v1/movers", tags=["movers"])
_NOUN = "movers"
RegionName = Annotated[SomeName, Path(description="Name of the region")]
_Operator = Depends(require(Role.OPERATOR))
_MOVES_MAX = 100_000


class MoverPatch(RequestModel):
    """The bounds to change. Omitted bounds stay, and null removes a bound."""

    moves_max: Whole | None = Field(default=None, ge=1, le=_MOVES_MAX, description="Moves at a time")
    msb_share_max: Number | None = Field(
        default=None, gt=0, le=1, description="Share of an MSB's servers that may leave reservations at a time"
    )
    msb_moves_max: Whole | None = Field(default=None, ge=1, le=_MOVES_MAX, description="Moves at a time in one MSB")
    msb_starts_per_minute: Whole | None = Field(
        default=None, ge=1, le=_MOVES_MAX, description="Moves that start in one MSB in any minute"
    )
    loan_s_max: Number | None = Field(
        default=None, ge=60, le=LOAN_S_LIMIT, description="Seconds that a loan of a server may last"
    )


class WhyIn(RequestModel):
    """The reason for an action. The audit trail keeps it."""

    reason: SomeName


class MoverOut(ResponseModel):
    """The mover of a region. A bound of null means: the default, or no bound."""

    region: str
    moves_max: int | None
    msb_share_max: float | None
    msb_moves_max: int | None
    msb_starts_per_minute: int | None
    loan_s_max: float | None = Field(
        description=f"Seconds that a loan of a server may last; null: the default of {LOAN_S_MAX:g}"
    )
    paused_at: datetime | None = Field(description="Since when no step begins; null: it is not paused")
    paused_reason: str | None
    actuator_probe_at: datetime | None = Field(
        description="When to try the silent actuator again; null: no failure is known"
    )
    generation: int


@router.get("", operation_id="list_movers", responses=problems(404))
def get_movers(
    context: Context,
    paging: Paging,
    region: Annotated[SomeName | None, Query(description="Of this region only")] = None,
) -> PageOf[MoverOut]:
    """List the movers of all regions, in the order of the regions' creation."""
    after = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        page = list_movers(tx, region, after=after, limit=paging.limit)
    return PageOf(items=[_out(mover) for mover in page.items], next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get("/{region}", operation_id="get_mover", responses={200: {"headers": headers("ETag")}, **problems(404)})
def get_mover(region: RegionName, context: Context, response: Response) -> MoverOut:
    """Return the mover of one region."""
    with context.database.snapshot() as tx:
        mover = load_mover(tx, region)
    response.headers.update(etag(mover.generation))
    return _out(mover)


@router.patch(
    "/{region}",
    operation_id="update_mover",
    response_model=MoverOut,
    dependencies=[_Operator],
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def patch_mover(
    region: RegionName,
    body: MoverPatch,
    write: Write,
    expected: ExpectedGeneration,
    principal: Asking,
    context: Context,
) -> Response:
    """Set bounds on moves in progress. The next tick applies them. Running moves continue."""

    def effect(tx: Transaction) -> Answer:
        bounds: MoverBounds = replace(load_mover(tx, region).bounds, **body.model_dump(exclude_unset=True))
        now = context.clock.now()
        return _answer(set_bounds(tx, region, bounds, generation=expected, actor=principal.name, now=now))

    return write.once(effect)


@router.post(
    "/{region}/pause",
    operation_id="pause_mover",
    response_model=MoverOut,
    dependencies=[_Operator],
    responses={200: {"headers": headers("ETag")}, **problems(404)},
)
def post_pause(region: RegionName, body: WhyIn, write: Write, principal: Asking, context: Context) -> Response:
    """Pause the mover: no move starts and no step begins. Running steps end. Replacements are still drawn, and wait
    too.
    """

    def effect(tx: Transaction) -> Answer:
        now, actor = context.clock.now(), principal.name
        return _answer(pause_mover(tx, region, reason=body.reason, actor=actor, now=now))

    return write.once(effect)


@router.post(
    "/{region}/resume",
    operation_id="resume_mover",
    response_model=MoverOut,
    dependencies=[_Operator],
    responses={200: {"headers": headers("ETag")}, **problems(404)},
)
def post_resume(region: RegionName, body: WhyIn, write: Write, principal: Asking, context: Context) -> Response:
    """Resume the mover at once."""

    def effect(tx: Transaction) -> Answer:
        now, actor = context.clock.now(), principal.name
        mover = resume_mover(tx, region, reason=body.reason, actor=actor, now=now)
        enqueue(tx, MOVE, region)
        return _answer(mover)

    return write.once(effect)


def _answer(mover: Mover) -> Answer:
    return Answer(200, _out(mover), etag(mover.generation))


def _out(mover: Mover) -> MoverOut:
    return MoverOut(
        region=mover.region,
        **asdict(mover.bounds),
        paused_at=mover.paused_at,
        paused_reason=mover.paused_reason,
        actuator_probe_at=mover.probe_at,
        generation=mover.generation,
    )
