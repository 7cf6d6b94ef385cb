"""`/v1/simulations`: the effect of more demand, other costs, a lost MSB or new racks. The portal applies them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from libs.domain.principal import Role
from libs.reconcile.jobs import SIMULATE
from libs.store.fleet.regions import load_region
from libs.store.plans.simulations import cancel_simulation, create_simulation, list_simulations, load_simulation
from libs.store.platform.database import Transaction
from libs.store.platform.jobs import enqueue
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.cursors import Paging
from libs.web.idempotency import Answer, Write
from libs.web.long_runs import LongRuns
from libs.web.model import ID_MAX, PageOf, SomeName
from libs.web.openapi import headers, problems
from libs.web.simulation_out import SimulationOut, simulation_out
from services.solver.api.estimate_out import SimulationEstimateOut, estimate_out
from services.solver.api.what_if import SimulationIn, to_what_if
from services.solver.estimate_simulation import estimate_simulation

router = APIRouter(prefix="/v1/simulations", tags=["simulations"])
_Id = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the simulation")]
_OPERATOR = [Depends(require(Role.OPERATOR))]
_RUNS = LongRuns(
    noun="Simulation",
    cursor_noun="simulations",
    out=simulation_out,
    load=load_simulation,
    cancel=lambda tx, simulation_id, now: cancel_simulation(tx, simulation_id, job_kind=SIMULATE, now=now),
)


@router.post(
    "",
    operation_id="create_simulation",
    status_code=202,
    response_model=SimulationOut,
    dependencies=_OPERATOR,
    responses={
        200: {"model": SimulationEstimateOut, "description": "With dry_run: an estimate; nothing is written"},
        202: {"headers": headers("Location")},
        **problems(404),
    },
)
def post_simulation(
    body: SimulationIn,
    write: Write,
    principal: Asking,
    context: Context,
    dry_run: Annotated[bool, Query(description="Answer an estimate at once, without a solve. Writes nothing")] = False,
) -> Response:
    """Solve the region with the given changes, without changing it. Poll the Location of the answer."""
    if dry_run:
        what_if, found = estimate_simulation(context.database, context.clock, body, holder=principal.holder)
        answer = estimate_out(body.region, what_if, found)
        return Response(answer.model_dump_json(), media_type="application/json")

    def effect(tx: Transaction) -> Answer:
        region = load_region(tx, body.region)
        what_if = to_what_if(tx, region, body)
        now = context.clock.now()
        simulation_id = create_simulation(tx, region.region_id, what_if, requested_by=principal.name, now=now)
        enqueue(tx, SIMULATE, str(simulation_id))
        location = {"Location": f"/v1/simulations/{simulation_id}"}
        return Answer(202, simulation_out(load_simulation(tx, simulation_id)), location)

    return write.once(effect)


@router.get("", operation_id="list_simulations", responses=problems(404))
def get_simulations(
    context: Context, paging: Paging, region: Annotated[SomeName | None, Query()] = None
) -> PageOf[SimulationOut]:
    """List simulations, latest first. Only the answer for one simulation has `report.reservations`."""
    return _RUNS.page(
        context, paging, lambda tx, after: list_simulations(tx, region=region, after=after, limit=paging.limit)
    )


@router.get("/{simulation_id}", operation_id="get_simulation", responses=problems(404))
def get_simulation(simulation_id: _Id, context: Context) -> SimulationOut:
    """Return one simulation: its progress while it runs, then the difference that it makes."""
    return _RUNS.one(context, simulation_id)


@router.post(
    "/{simulation_id}/cancel",
    operation_id="cancel_simulation",
    status_code=202,
    response_model=SimulationOut,
    dependencies=_OPERATOR,
    responses=problems(404, 409),
)
def post_cancel(simulation_id: _Id, write: Write, principal: Asking, context: Context) -> Response:
    """Stop a simulation. A running one keeps its best answer so far."""
    return _RUNS.stop(context, write, principal, simulation_id)
