"""Fill a platform with a solve, a simulation, and Flux at its full size, for `bench pages`."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.executions import made_up_actions, store_target_plan
from libs.domain.plan_execution import Command, CommandLevel, RecordedCommand, Terms, Verb
from libs.domain.simulation import Loss, WhatIf
from libs.executions.give_command import give_command
from libs.reconcile.clock import SystemClock
from libs.store.fleet.regions import load_region
from libs.store.plans.simulations import create_simulation
from libs.store.plans.solve_runs import list_solve_runs
from libs.store.platform.database import Database
from services.orchestrator.create_execution import create_execution
from services.planner.document_names import PLACES
from services.solver.reconcilers.run_simulation import RunSimulation
from services.solver.reconcilers.solve_bindings import SolveBindings
from services.solver.settings import SolverSettings

SERVICES, REGIONS, PRODUCTS, ACTIONS = 1000, 20, 60, 10_000
_STEP = dict.fromkeys(("traffic_moved", "upsized", "freed", "growth", "deficit", "spare"), 100.0)


def solve_and_simulate(database: Database, region: str, msb: str, home: Path, *, solve_s: float) -> tuple[int, int]:
    """Solve the region, and simulate the loss of an MSB, each within a time limit. Return the ids of both."""
    settings = SolverSettings.model_validate(
        {"PLIMSOLL_BUNDLE_DIR": home / "bundles", "PLIMSOLL_SOLVE_S_MAX": solve_s, "PLIMSOLL_BUNDLES_MAX": 1}
    )
    clock = SystemClock()
    SolveBindings(database, clock, settings, region, "bench").reconcile()
    with database.write() as tx:
        run = list_solve_runs(tx, region=region, after=None, limit=1).items[0].solve_run_id
        lost = WhatIf(policy={}, lose=(Loss(scope="msb", name=msb),))
        region_id = load_region(tx, region).region_id
        simulation = create_simulation(tx, region_id, lost, requested_by="bench", now=clock.now())
    RunSimulation(database, clock, settings, simulation).reconcile()
    return run, simulation


def fill_flux(database: Database, *, now: datetime) -> int:
    """Store two runs with models, and the execution of a plan, whose actions are events of the ledger. Return its
    id.
    """
    rng = np.random.default_rng(1)
    for _ in range(2):
        plan_id = store_target_plan(
            database,
            made_up_actions(SERVICES, REGIONS, ACTIONS),
            now=now,
            summary={"growth_withheld": 0.0, "steps": [{"step": 1, "starts_at": now.isoformat(), **_STEP}]},
            files={PLACES: json.dumps(_places(rng)).encode()},
            models={f"service-{k}": _model(rng, k) for k in range(SERVICES)},
        )
    with database.write() as tx:
        made = create_execution(tx, plan_id, terms=Terms(), reason="bench", actor="bench", now=now)
        start = RecordedCommand(command=Command(level=CommandLevel.PLAN, verb=Verb.START), actor="bench", given_at=now)
        give_command(tx, made.plan_execution_id, start, now=now)
    return made.plan_execution_id


def _model(rng: np.random.Generator, number: int) -> dict[str, Any]:
    baseline = {f"region-{r}": float(value) for r, value in enumerate(rng.gamma(2.0, 50.0, REGIONS))}
    share = rng.dirichlet(np.ones(PRODUCTS))
    return {
        "hardware_type": f"type-{number % 4}",
        "metric": "cpu",
        "capacity": 10.0,
        "attribution": {f"product-{p}": float(one) for p, one in enumerate(share)},
        "baseline": baseline,
        "residual": {name: 0.1 * value for name, value in baseline.items()},
        "error": float(rng.gamma(2.0, 0.03)),
        "confidence": "low" if number % 10 == 0 else "high",
        "reasons": ["ModelError"] if number % 10 == 0 else [],
        "sampling_error": 0.01,
        "throughput": 100.0,
        "coverage": 0.9,
        "spans": 100_000,
    }


def _places(rng: np.random.Generator) -> dict[str, Any]:
    """Return the document of the services and products by region, and of the traffic that is shifted."""

    def row() -> list[float]:
        return [float(value) for value in rng.gamma(2.0, 50.0, REGIONS)]

    regions = [f"region-{r}" for r in range(REGIONS)]
    return {
        "step": 1,
        "regions": regions,
        "services": [
            {
                "service": f"service-{k}",
                "hardware_type": f"type-{k % 4}",
                "now": row(),
                "planned": row(),
                "growth": row(),
            }
            for k in range(SERVICES)
        ],
        "products": [{"product": f"product-{k}", "now": row(), "planned": row()} for k in range(PRODUCTS)],
        "shifts": [
            {
                "product": f"product-{k % PRODUCTS}",
                "from_region": regions[k % REGIONS],
                "to_region": regions[(k + 1 + k % 3) % REGIONS],
                "share": 0.01,
            }
            for k in range(20 * PRODUCTS)
        ],
    }
