"""Solve one what-if: apply its changes to a copy of the live region, and write only the report."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
from structlog import get_logger

from libs.assignment import Limits, Pool
from libs.domain.fleet import FREE, FleetSnapshot
from libs.domain.simulation import SimulatedChange, Simulation, SimulationStatus, rests_on
from libs.domain.waves import MovingState
from libs.domain.what_if import imagine
from libs.jobs.progress import ProgressRecorder
from libs.observability.logs import redact_text
from libs.plan_check.check import check_plan, require_clean
from libs.ras.admission import refusal_of
from libs.ras.awaited_losses import await_lost_domains
from libs.ras.difference import difference
from libs.ras.held_while_short import with_held
from libs.ras.simulation_report import Refusal, SimulationReport, report_as_json
from libs.ras.solve import plan_target_bindings
from libs.ras.solve_result import SolveResult
from libs.ras.waves.report import report_waves
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.store.capacity.reservations import load_owners
from libs.store.fleet.lost_domains import load_lost_domains
from libs.store.fleet.regions import load_region
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.moves.churn import with_churn
from libs.store.moves.moving_state import load_moving_state
from libs.store.plans.simulations import (
    finish_simulation,
    forget_simulations,
    load_simulation,
    record_simulation_progress,
    start_simulation,
)
from libs.store.platform.database import Database
from services.solver.kept_bundles import keep_bundle
from services.solver.settings import SolverSettings

log = get_logger(__name__)

KEPT_MAX = 100
"""Number of simulations to keep per region, in addition to applied ones."""


@dataclass(frozen=True, slots=True)
class RunSimulation:
    """Runs one simulation. It writes only its own rows. If it is killed, the next run begins from the start."""

    database: Database
    clock: Clock
    settings: SolverSettings
    simulation_id: int
    pool: Callable[[], AbstractContextManager[Pool | None]] = nullcontext
    """Opens the pool that solves parts of the program; None: threads of this process."""

    def reconcile(self) -> SimulationStatus:
        """Load the region, apply the changes, solve, compare and store. Return the final status. An ended simulation
        stays as it is.
        """
        with self.database.write() as tx:
            started = start_simulation(tx, self.simulation_id, now=self.clock.now())
            simulation = load_simulation(tx, self.simulation_id)
            crash_point("solver.simulate.begin.before")
        crash_point("solver.simulate.begin.after")
        if not started:
            return simulation.status
        try:
            return self._run(simulation)
        except Exception as error:
            text = redact_text(f"{type(error).__name__}: {error}")
            with self.database.write() as tx:
                finish_simulation(
                    tx, self.simulation_id, SimulationStatus.FAILED, now=self.clock.now(), error=text[:2000]
                )
            log.warning("simulation.failed", simulation_id=self.simulation_id, error=text)
            raise

    def _run(self, simulation: Simulation) -> SimulationStatus:
        with self.database.snapshot() as tx:
            now = self.clock.now()
            before = with_churn(tx, load_fleet_snapshot(tx, simulation.region), now=now)
            before = await_lost_domains(before, load_lost_domains(tx, simulation.region, now=now), now)
            owned = load_owners(tx, simulation.region)
            state = load_moving_state(tx, simulation.region)
        imagined = imagine(before, simulation.what_if, owned)
        seed = before.target_plan_id or 0
        limits = Limits(time_s_max=self.settings.solve_s_max)
        bundle = keep_bundle(
            self.settings.bundle_dir,
            imagined,
            kind="simulation",
            run_id=self.simulation_id,
            seed=seed,
            limits=limits,
            most=self.settings.bundles_max,
            what_if=simulation.what_if.as_dict(),
        )
        with (
            ProgressRecorder(self.database, self.simulation_id, record_simulation_progress) as progress,
            self.pool() as pool,
        ):
            result = plan_target_bindings(
                imagined, limits, seed=seed, progress=progress.report, cancelled=progress.cancelled, pool=pool
            )
        result = with_held(imagined, result)
        require_clean(check_plan(imagined, result.plan))
        stopped = result.report.stopped_by == "cancelled"
        status = SimulationStatus.CANCELLED if stopped else SimulationStatus.DONE
        with self.database.write() as tx:
            finish_simulation(
                tx,
                self.simulation_id,
                status,
                now=self.clock.now(),
                report=report_as_json(_report(before, imagined, result, state)),
                rests_on=rests_on(before, imagined, result.plan.target),
                bundle=str(bundle),
                changes=_changes(imagined, result) if not simulation.what_if.not_decisions else (),
            )
            forget_simulations(tx, load_region(tx, simulation.region).region_id, most=KEPT_MAX)
            crash_point("solver.simulate.finish.before")
        crash_point("solver.simulate.finish.after")
        log.info("simulation.done", simulation_id=self.simulation_id, region=simulation.region, status=status.value)
        return status


def _report(
    before: FleetSnapshot, imagined: FleetSnapshot, result: SolveResult, state: MovingState
) -> SimulationReport:
    """Return the difference, the solve, the waves, and the demand that no state of the region could meet."""
    old, new = before.reservations, imagined.reservations
    asked = [r for r in range(len(new)) if r >= len(old) or new.capacity_rru[r] != old.capacity_rru[r]]
    verdicts = [(r, refusal_of(imagined, r)) for r in asked]
    return SimulationReport(
        difference=difference(before, imagined, result.plan.target),
        refused=tuple(
            Refusal(reservation=str(new.name[r]), reason=verdict.reason, message=verdict.message)
            for r, verdict in verdicts
            if verdict is not None
        ),
        solve=result.report.as_dict(),
        waves=report_waves(imagined, result.plan.target, state),
    )


def _changes(imagined: FleetSnapshot, result: SolveResult) -> list[SimulatedChange]:
    servers, names = imagined.servers, imagined.reservations.name
    target = result.plan.target
    return [
        SimulatedChange(
            server_id=int(servers.id[row]),
            generation=int(servers.generation[row]),
            to_reservation=None if target[row] == FREE else str(names[target[row]]),
        )
        for row in np.sort(result.plan.changes(imagined))
    ]
