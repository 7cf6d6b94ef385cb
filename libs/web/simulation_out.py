"""A simulation as JSON. The solver runs and lists simulations, and the portal applies them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from libs.domain.simulation import Simulation, SimulationStatus
from libs.web.long_runs import PROGRESS
from libs.web.model import ResponseModel


class SimulationOut(ResponseModel):
    """One simulation, and its answer."""

    simulation_id: int
    region: str
    requested_by: str
    what_if: dict[str, Any] = Field(description="The assumed changes")
    status: SimulationStatus
    applicable: bool = Field(
        description="Whether a plan can bring all of it about: no lost places, no racks or types added or removed, and "
        "no other limits on power"
    )
    progress: dict[str, Any] = Field(description=PROGRESS)
    report: dict[str, Any] | None = Field(
        description="cost (now, at_once, after), reservations and hardware_types that differ, short_of (the resource "
        "or guest of which a reservation is short), power of domains with a limit, moves, refused, solve"
    )
    error: str | None
    bundle: str | None = Field(description="Replay bundle on the solver's machine: `plimsoll solve` runs it again")
    cancel_requested: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    applied_plan_id: int | None = Field(description="The plan that applied it; null if it changed no target")
    applied_by: str | None
    applied_at: datetime | None
    ends_rollout_id: int | None = Field(
        description="The open roll-out of a policy that applying it would end, or the one that it ended; null: none"
    )


def simulation_out(simulation: Simulation) -> SimulationOut:
    """Return the JSON model of a simulation."""
    values = {name: getattr(simulation, name, None) for name in SimulationOut.model_fields}
    values["what_if"] = simulation.what_if.as_dict()
    values["applicable"] = not simulation.what_if.not_decisions
    return SimulationOut.model_validate(values)
