"""`/v1/simulations`: what if there were more demand, other costs, a lost MSB, new racks; and make it so."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import Field

from libs.domain.principal import Role
from libs.domain.simulation import Simulation, SimulationStatus
from libs.store.database import Transaction
from libs.store.jobs import enqueue
from libs.store.regions import load_region
from libs.store.simulations import cancel_simulation, create_simulation, list_simulations, load_simulation
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX, PageOf, ResponseModel, SomeName
from libs.web.openapi import headers, problems
from libs.web.problems import Problem
from libs.web.reasons import ReasonQuery
from services.solver.api.what_if import SimulationIn, to_what_if
from services.solver.applying import apply_simulation, load_ground
from services.solver.job_names import SIMULATE

router = APIRouter(prefix="/v1/simulations", tags=["simulations"])
_NOUN = "simulations"
_Id = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the simulation")]
_OPERATOR = [Depends(require(Role.OPERATOR))]


class SimulationOut(ResponseModel):
    """One what-if, and what became of it."""

    simulation_id: int
    region: str
    requested_by: str
    what_if: dict[str, Any] = Field(description="What is other than it is")
    status: SimulationStatus
    applicable: bool = Field(description="Whether all of it is for somebody to decide: no lost MSBs, no new racks")
    progress: dict[str, Any] = Field(description="phase, incumbent, bound, gap, elapsed_s")
    report: dict[str, Any] | None = Field(
        description="cost (now, at_once, after), reservations and hardware_types that differ, moves, refused, solve"
    )
    error: str | None
    bundle: str | None = Field(description="Replay bundle on the solver's machine: `plimsoll solve` runs it again")
    cancel_requested: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    applied_plan_id: int | None = Field(description="The plan that it became; null where it moved nothing")
    applied_by: str | None
    applied_at: datetime | None


def _out(simulation: Simulation) -> SimulationOut:
    values = {name: getattr(simulation, name, None) for name in SimulationOut.model_fields}
    values["what_if"] = simulation.what_if.as_dict()
    values["applicable"] = not simulation.what_if.not_decisions
    return SimulationOut.model_validate(values)


@router.post(
    "",
    operation_id="create_simulation",
    status_code=202,
    response_model=SimulationOut,
    dependencies=_OPERATOR,
    responses={202: {"headers": headers("Location")}, **problems(404)},
)
def post_simulation(body: SimulationIn, write: Write, principal: Asking, context: Context) -> Response:
    """Solve the region as it would be; poll the answer's Location. Nothing of the region changes."""

    def effect(tx: Transaction) -> Answer:
        region = load_region(tx, body.region)
        what_if = to_what_if(tx, region, body)
        now = context.clock.now()
        simulation_id = create_simulation(tx, region.region_id, what_if, requested_by=principal.name, now=now)
        enqueue(tx, SIMULATE, str(simulation_id))
        location = {"Location": f"/v1/simulations/{simulation_id}"}
        return Answer(202, _out(load_simulation(tx, simulation_id)), location)

    return write.once(effect)


@router.get("", operation_id="list_simulations")
def get_simulations(
    context: Context, paging: Paging, region: Annotated[SomeName | None, Query()] = None
) -> PageOf[SimulationOut]:
    """Simulations, the latest first; without `report.reservations`, which each tells when it is asked for alone."""
    after = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        page = list_simulations(tx, region=region, after=after, limit=paging.limit)
    return PageOf(items=[_out(one) for one in page.items], next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get("/{simulation_id}", operation_id="get_simulation", responses=problems(404))
def get_simulation(simulation_id: _Id, context: Context) -> SimulationOut:
    """One simulation: while it runs its progress, afterwards the difference that it makes."""
    with context.database.snapshot() as tx:
        return _out(load_simulation(tx, simulation_id))


@router.post(
    "/{simulation_id}/cancel",
    operation_id="cancel_simulation",
    status_code=202,
    response_model=SimulationOut,
    dependencies=_OPERATOR,
    responses=problems(404, 409),
)
def post_cancel(simulation_id: _Id, write: Write, context: Context) -> Response:
    """Tell it to stop: one that runs keeps the best answer that it has, to be looked at."""

    def effect(tx: Transaction) -> Answer:
        load_simulation(tx, simulation_id)
        if not cancel_simulation(tx, simulation_id, job_kind=SIMULATE, now=context.clock.now()):
            raise Problem(409, "wrong_phase", f"Simulation {simulation_id} is over: there is nothing to stop.")
        return Answer(202, _out(load_simulation(tx, simulation_id)))

    return write.once(effect)


@router.post(
    "/{simulation_id}/apply",
    operation_id="apply_simulation",
    response_model=SimulationOut,
    dependencies=_OPERATOR,
    responses=problems(404, 409),
)
def post_apply(
    simulation_id: _Id, write: Write, principal: Asking, context: Context, reason: ReasonQuery = None
) -> Response:
    """Make its decisions and its plan so, all or nothing: 409 where anything that it rests on has changed since.

    Quotas hold. Where an approval limit is exceeded this is the approval: it needs a reason and, with four eyes,
    somebody else than who simulated.
    """
    with context.database.snapshot() as reading:
        ground = load_ground(reading, simulation_id)

    def effect(tx: Transaction) -> Answer:
        actor, now = principal.name, context.clock.now()
        applied = apply_simulation(tx, ground, simulation_id, actor=actor, reason=reason, now=now)
        return Answer(200, _out(applied))

    return write.once(effect)
