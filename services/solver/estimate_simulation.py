"""Answer a simulation's question by an estimate, without a solve and without a row."""

from __future__ import annotations

from libs.domain.simulation import WhatIf
from libs.domain.what_if import ImpossibleWhatIf, UnknownName, imagine
from libs.ras.awaited_losses import await_lost_domains
from libs.ras.estimate import Estimate, estimate
from libs.reconcile.clock import Clock
from libs.store.capacity.reservations import load_owners
from libs.store.fleet.lost_domains import load_lost_domains
from libs.store.fleet.regions import load_region
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.platform.database import Database
from libs.web.problems import FieldError, invalid
from libs.web.solving_slots import solving_slot
from services.solver.api.what_if import SimulationIn, to_what_if


def estimate_simulation(
    database: Database, clock: Clock, asked: SimulationIn, *, holder: int | str
) -> tuple[WhatIf, Estimate]:
    """Return the what-if that is asked for, and its estimated effect on the region as it is.

    Raises NotFound, and Problem: 422 for a what-if that contradicts the region, 429 while too many others run.
    """
    with solving_slot(holder):
        with database.snapshot() as tx:
            what_if = to_what_if(tx, load_region(tx, asked.region), asked)
            before, now = load_fleet_snapshot(tx, asked.region), clock.now()
            before = await_lost_domains(before, load_lost_domains(tx, asked.region, now=now), now)
            owned = load_owners(tx, asked.region)
        try:
            imagined = imagine(before, what_if, owned)
        except (ImpossibleWhatIf, UnknownName) as error:
            field, _, message = str(error).partition(": ")
            raise invalid(FieldError(field=field, location="body", code="impossible", message=message)) from error
        return what_if, estimate(before, imagined)
