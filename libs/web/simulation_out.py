"""A simulation as JSON: the solver runs and lists them, and the portal answers with one that it applied."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from libs.domain.simulation import Simulation, SimulationStatus
from libs.web.model import ResponseModel


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


def simulation_out(simulation: Simulation) -> SimulationOut:
    """Return it as JSON has it."""
    values = {name: getattr(simulation, name, None) for name in SimulationOut.model_fields}
    values["what_if"] = simulation.what_if.as_dict()
    values["applicable"] = not simulation.what_if.not_decisions
    return SimulationOut.model_validate(values)
