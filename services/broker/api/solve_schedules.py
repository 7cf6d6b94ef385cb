"""`/v1/regions/{region}/schedule`: the solve period of a region."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response
from pydantic import ConfigDict, Field

from libs.domain.principal import Role
from libs.domain.solve_schedule import SOLVE_EVERY_S_MAX, SOLVE_EVERY_S_MIN
from libs.store.plans.solve_schedules import load_solve_schedule, set_solve_period
from libs.store.platform.database import Transaction
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import Number, RequestModel, ResponseModel, SomeName
from libs.web.openapi import headers, problems
from libs.web.reasons import GivenReason

router = APIRouter(prefix="/v1/regions/{region}/schedule", tags=["regions"])
RegionName = Annotated[SomeName, Path(description="Name of the region")]


class SchedulePut(RequestModel):
    """The solve period of a region."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"solve_every_s": 1800, "reason": "a busy week"}]})
    solve_every_s: Number | None = Field(
        ge=SOLVE_EVERY_S_MIN,
        le=SOLVE_EVERY_S_MAX,
        description="Seconds between two solves, from a minute to 7 days; null: the platform's own period",
    )
    reason: GivenReason | None = Field(default=None, description="Why, for the audit trail")


class ScheduleOut(ResponseModel):
    """The solve period of a region, and the time of its next scheduled solve."""

    region: str
    solve_every_s: float | None = Field(
        description="The period that an operator chose, in seconds; null: no operator chose one"
    )
    period_s: float = Field(description="The period in force: the operator's, or else the platform's own")
    solve_due_at: datetime | None = Field(
        description="When the next solve is due; null: the scheduler has not seen the region yet"
    )
    generation: int = Field(description="Generation of the region; send it as If-Match")


@router.get("", operation_id="get_region_schedule", responses={200: {"headers": headers("ETag")}, **problems(404)})
def get_schedule(region: RegionName, context: Context, response: Response) -> ScheduleOut:
    """Return the solve period of a region, and the time of its next solve."""
    with context.database.snapshot() as tx:
        schedule = load_solve_schedule(tx, region)
    response.headers.update(etag(schedule.generation))
    return ScheduleOut.model_validate(schedule)


@router.put(
    "",
    operation_id="set_region_schedule",
    response_model=ScheduleOut,
    dependencies=[Depends(require(Role.OPERATOR))],
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def put_schedule(
    region: RegionName,
    body: SchedulePut,
    write: Write,
    expected: ExpectedGeneration,
    principal: Asking,
    context: Context,
) -> Response:
    """Set the solve period of a region. The next solve is due within this period from now."""

    def effect(tx: Transaction) -> Answer:
        schedule = set_solve_period(
            tx,
            region,
            body.solve_every_s,
            generation=expected,
            actor=principal.name,
            now=context.clock.now(),
            reason=body.reason,
        )
        return Answer(200, ScheduleOut.model_validate(schedule), etag(schedule.generation))

    return write.once(effect)
