"""The route `/v1/simulations/{id}/apply`: carry out the changes that a simulation tried. It belongs to the portal
because it promises capacity. services/solver has the other routes of simulations.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from libs.domain.principal import Role
from libs.store.moves.replacement_need import ask_for_replacements
from libs.store.platform.database import Transaction
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX
from libs.web.openapi import problems
from libs.web.reasons import ReasonQuery
from libs.web.simulation_out import SimulationOut, simulation_out
from services.portal.apply_simulation import apply_simulation, load_ground

router = APIRouter(prefix="/v1/simulations", tags=["simulations"])
_Id = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the simulation")]
_OPERATOR = [Depends(require(Role.OPERATOR))]


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
    """Apply the decisions and the plan of a simulation, all or nothing. Answer 409 if its basis has changed since.

    Quotas and the churn budget apply. Above an approval limit this call is the approval, so it needs a reason. With
    four eyes, the caller must not be the person who ran the simulation.
    """
    with context.database.snapshot() as reading:
        ground = load_ground(reading, simulation_id, now=context.clock.now())

    def effect(tx: Transaction) -> Answer:
        actor, now = principal.name, context.clock.now()
        applied = apply_simulation(tx, ground, simulation_id, actor=actor, reason=reason, now=now)
        return Answer(200, simulation_out(applied))

    answer = write.once(effect)
    with context.database.write() as tx:
        ask_for_replacements(tx, ground.fleet.region)
    return answer
