"""`./scripts/bench executions`: ticks of an execution of 50,000 actions, 1,000 services in 20 regions."""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from libs.carriers.simulated import SimulatedCarrier, SimulatedCarrierSettings
from libs.domain.execution_plan import Action, ExecutionPlan, Phase, PoolRoom
from libs.domain.plan_execution import Command, CommandLevel, ExecutionState, RecordedCommand, Terms, Verb
from libs.domain.plan_run import PlanTrigger
from libs.executions.give_command import give_command
from libs.interchange.world.execution_plan import execution_plan_document
from libs.store.executions.executions import load_execution
from libs.store.planner.placement_plans import commit_placement_plan
from libs.store.planner.plan_runs import create_plan_run
from libs.store.platform.database import Database
from libs.store.platform.migrate import migrate
from services.orchestrator.create_execution import DAG, create_execution
from services.orchestrator.reconcilers.advance_executions import AdvanceExecutions, Systems
from services.standalone.postgres import running_postgres

_TYPES, _SERVED = 5, 4


class _Clock:
    """Moves only when told."""

    def __init__(self) -> None:
        self._now = datetime(2026, 11, 2, tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def sleep(self, duration_s: float) -> None:
        self._now += timedelta(seconds=duration_s)


def bench_executions(argv: list[str]) -> dict[str, object]:
    """Return seconds: to create and start the execution, and of its ticks until it is done.

    A tick of `idle` finds nothing to do. The longest tick starts and ends tens of thousands of actions at once.
    """
    parser = argparse.ArgumentParser(prog="bench executions")
    parser.add_argument("--services", type=int, default=1000)
    parser.add_argument("--regions", type=int, default=20)
    parser.add_argument("--actions", type=int, default=50_000)
    given = parser.parse_args(argv)
    plan = _plan(given.services, given.regions, given.actions)
    with tempfile.TemporaryDirectory() as home, running_postgres(Path(home) / "postgres") as url:
        migrate(url)
        database, clock = Database(url), _Clock()
        try:
            return _run(database, clock, plan)
        finally:
            database.close()


def _run(database: Database, clock: _Clock, plan: ExecutionPlan) -> dict[str, object]:
    began = time.perf_counter()
    with database.write() as tx:
        run = create_plan_run(tx, trigger=PlanTrigger.REQUEST, now=clock.now())
        plan_id = commit_placement_plan(
            tx,
            plan_run_id=run.plan_run_id,
            parent=None,
            committed=True,
            input_versions={},
            overrides=(),
            summary={},
            files={DAG: json.dumps(execution_plan_document(plan)).encode()},
            now=clock.now(),
        )
        terms = Terms(bake_s=0.0, downsize_bake_s=0.0)
        made = create_execution(tx, plan_id, terms=terms, reason="bench", actor="bench", now=clock.now())
    created = time.perf_counter()
    start = RecordedCommand(
        command=Command(level=CommandLevel.PLAN, verb=Verb.START), actor="bench", given_at=clock.now()
    )
    with database.write() as tx:
        give_command(tx, made.plan_execution_id, start, now=clock.now())
    started = time.perf_counter()
    carrier = SimulatedCarrier(clock, SimulatedCarrierSettings.model_validate({"PLIMSOLL_SIMULATED_ACTION_S": 60.0}))
    loop = AdvanceExecutions(database, clock, Systems(resizes=carrier, shifts=carrier, gauges={}))
    busy: list[float] = []
    idle: list[float] = []
    for _ in range(60):
        clock.sleep(30.0)
        before = time.perf_counter()
        reports = loop.reconcile()
        spent = time.perf_counter() - before
        (busy if any(r.changed or r.answered for r in reports) else idle).append(spent)
        with database.snapshot() as tx:
            state = load_execution(tx, made.plan_execution_id).state
        if state is ExecutionState.DONE:
            break
    return {
        "actions": len(plan.actions),
        "dependencies": sum(len(a.waits_for) for a in plan.actions),
        "create_s": created - began,
        "start_s": started - created,
        "state": state.value,
        "ticks": len(busy) + len(idle),
        "tick_longest_s": max(busy),
        "tick_median_s": statistics.median(busy + idle),
        "tick_idle_s": max(idle, default=None),
    }


def _plan(services: int, regions: int, count: int) -> ExecutionPlan:
    """Return a plan: a shift for each region and product, and resizes of random services around them."""
    rng = np.random.default_rng(1)
    products = max(1, services // 50)
    shifts = [(p, r, (r + 1 + p % (regions - 1)) % regions) for p in range(products) for r in range(regions)]
    places = [(s, r, h) for s in range(services) for r in range(regions) for h in range(_TYPES)]
    chosen = [places[i] for i in rng.permutation(len(places))[: count - len(shifts)]]
    arriving: dict[tuple[int, int], list[str]] = {}
    upsizes, downsizes = [], []
    for number, (s, r, h) in enumerate(chosen):
        served = [(s + k) % products for k in range(_SERVED)]
        if number % 2:
            upsizes.append(_resize(Phase.UPSIZE, s, r, h, ()))
            for p in served:
                arriving.setdefault((p, r), []).append(upsizes[-1].action)
        else:
            waits = tuple(_name(p, a, b) for p in served for a, b in ((r, (r + 1 + p % (regions - 1)) % regions),))
            downsizes.append(_resize(Phase.DOWNSIZE, s, r, h, waits))
    moved = [
        Action(
            action=_name(p, a, b),
            phase=Phase.SHIFT,
            product=f"product-{p}",
            region=f"region-{a}",
            to_region=f"region-{b}",
            after=0.01,
            waits_for=tuple(arriving.get((p, b), ())),
        )
        for p, a, b in shifts
    ]
    pools = tuple(
        PoolRoom(region=f"region-{r}", hardware_type=f"type-{h}", used=1e5, room=2e5)
        for r in range(regions)
        for h in range(_TYPES)
    )
    return ExecutionPlan(step=1, actions=(*upsizes, *moved, *downsizes), estimate_h=0.0, critical_path=(), pools=pools)


def _resize(phase: Phase, s: int, r: int, h: int, waits: tuple[str, ...]) -> Action:
    before, after = (10.0, 12.0) if phase is Phase.UPSIZE else (12.0, 10.0)
    return Action(
        action=f"{phase}/service-{s}/region-{r}/type-{h}",
        phase=phase,
        service=f"service-{s}",
        region=f"region-{r}",
        hardware_type=f"type-{h}",
        before=before,
        after=after,
        waits_for=waits,
    )


def _name(p: int, away: int, to: int) -> str:
    return f"shift/product-{p}/region-{away}/region-{to}"
