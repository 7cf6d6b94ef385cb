"""`./scripts/bench executions`: ticks of an execution of 50,000 actions, 1,000 services in 20 regions."""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from libs.carriers.simulated import SimulatedCarrier, SimulatedCarrierSettings
from libs.domain.execution_plan import Action, ExecutionPlan, Phase, PoolRoom
from libs.domain.freeze import FreezeScope
from libs.domain.plan_execution import Command, CommandLevel, ExecutionState, RecordedCommand, Terms, Verb
from libs.domain.plan_run import PlanRunStatus, PlanTrigger
from libs.executions.give_command import give_command
from libs.interchange.world.execution_plan import execution_plan_document
from libs.store.executions.executions import load_execution
from libs.store.executions.freezes import insert_freeze
from libs.store.planner.placement_plans import commit_placement_plan, load_target_plan_id
from libs.store.planner.plan_runs import create_plan_run, finish_plan_run, take_plan_run
from libs.store.planner.service_models import save_service_models
from libs.store.platform.database import Database, Transaction
from libs.store.platform.migrate import migrate
from services.orchestrator.create_execution import DAG, create_execution
from services.orchestrator.reconcilers.advance_executions import AdvanceExecutions
from services.orchestrator.systems import Systems
from services.standalone.postgres import running_postgres

_TICKS, _TICK_S = 60, 30.0
_TYPES, _SERVED = 5, 4
_APPROVED_EACH = 10
"""One of so many downsizes waits for an approval."""


class _Clock:
    """Moves only when told."""

    def __init__(self) -> None:
        self._now = datetime(2026, 11, 2, tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def sleep(self, duration_s: float) -> None:
        self._now += timedelta(seconds=duration_s)


def bench_executions(argv: list[str]) -> dict[str, object]:
    """Return seconds: to create and start the execution, and of its first ticks. CPU seconds are those of this process.

    The first tick is that of a process that has not seen the execution. Freezes hold services in the first half of the
    ticks, and some downsizes wait for an approval.
    """
    parser = argparse.ArgumentParser(prog="bench executions")
    parser.add_argument("--services", type=int, default=1000)
    parser.add_argument("--regions", type=int, default=20)
    parser.add_argument("--actions", type=int, default=50_000)
    parser.add_argument("--freezes", type=int, default=100)
    given = parser.parse_args(argv)
    plan = made_up_actions(given.services, given.regions, given.actions)
    with tempfile.TemporaryDirectory() as home, running_postgres(Path(home) / "postgres") as url:
        migrate(url)
        # Graphs are kept by URL, so a second name of the database stands for a process that has not read any.
        database, other, clock = Database(url), Database(f"{url}&application_name=bench"), _Clock()
        try:
            return _run(database, other, clock, plan, given.freezes)
        finally:
            database.close()
            other.close()


def store_target_plan(
    database: Database,
    plan: ExecutionPlan,
    *,
    now: datetime,
    summary: Mapping[str, object] | None = None,
    files: Mapping[str, bytes] | None = None,
    models: Mapping[str, Mapping[str, object]] | None = None,
) -> int:
    """Store a plan with its DAG, and perhaps further files and the models of its run, as the target. Return its id."""
    with database.write() as tx:
        create_plan_run(tx, trigger=PlanTrigger.REQUEST, now=now)
        run = take_plan_run(tx, window=(now, now), now=now)
        assert run is not None
        save_service_models(tx, run.plan_run_id, models or {})
        plan_id = commit_placement_plan(
            tx,
            plan_run_id=run.plan_run_id,
            parent=load_target_plan_id(tx),
            committed=True,
            input_versions={},
            overrides=(),
            summary=summary or {},
            files={DAG: json.dumps(execution_plan_document(plan)).encode(), **(files or {})},
            now=now,
        )
        finish_plan_run(tx, run, PlanRunStatus.DONE, now=now, placement_plan_id=plan_id)
    return plan_id


def _run(database: Database, other: Database, clock: _Clock, plan: ExecutionPlan, freezes: int) -> dict[str, object]:
    plan_id = store_target_plan(database, plan, now=clock.now())
    terms = Terms(bake_s=0.0, downsize_bake_s=0.0)
    planned, cpu = time.perf_counter(), time.process_time()
    with database.write() as tx:
        made = create_execution(tx, plan_id, terms=terms, reason="bench", actor="bench", now=clock.now())
    created, create_cpu_s = time.perf_counter(), time.process_time() - cpu
    start = RecordedCommand(
        command=Command(level=CommandLevel.PLAN, verb=Verb.START), actor="bench", given_at=clock.now()
    )
    with database.write() as tx:
        give_command(tx, made.plan_execution_id, start, now=clock.now())
    started = time.perf_counter()
    with database.write() as tx:
        for number in range(freezes):
            _freeze(tx, f"service-{number}", clock.now())
    carrier = SimulatedCarrier(clock, SimulatedCarrierSettings.model_validate({"PLIMSOLL_SIMULATED_ACTION_S": 60.0}))
    loop = AdvanceExecutions(other, clock, Systems(resizes=carrier, shifts=carrier, gauges={}))
    ticks: list[float] = []
    cpu = time.process_time()
    for _ in range(_TICKS):
        clock.sleep(_TICK_S)
        before = time.perf_counter()
        loop.reconcile()
        ticks.append(time.perf_counter() - before)
        with database.snapshot() as tx:
            state = load_execution(tx, made.plan_execution_id).state
        if state is ExecutionState.DONE:
            break
    return {
        "actions": len(plan.actions),
        "dependencies": sum(len(a.waits_for) for a in plan.actions),
        "create_s": created - planned,
        "create_cpu_s": create_cpu_s,
        "start_s": started - created,
        "state": state.value,
        "ticks": len(ticks),
        "tick_first_s": ticks[0],
        "tick_longest_s": max(ticks[1:]),
        "tick_median_s": statistics.median(ticks),
        "tick_cpu_s": (time.process_time() - cpu) / len(ticks),
    }


def _freeze(tx: Transaction, service: str, now: datetime) -> None:
    """Hold a service in the first half of the ticks."""
    insert_freeze(
        tx,
        scope=FreezeScope.SERVICE,
        name=service,
        starts_at=now,
        ends_at=now + timedelta(seconds=_TICKS * _TICK_S / 2),
        reason="bench",
        created_by="bench",
        now=now,
    )


def made_up_actions(services: int, regions: int, count: int) -> ExecutionPlan:
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
            asks = ("low_confidence",) if number % (2 * _APPROVED_EACH) == 0 else ()
            downsizes.append(_resize(Phase.DOWNSIZE, s, r, h, waits, asks))
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


def _resize(phase: Phase, s: int, r: int, h: int, waits: tuple[str, ...], approval: tuple[str, ...] = ()) -> Action:
    before, after = (10.0, 12.0) if phase is Phase.UPSIZE else (12.0, 10.0)
    return Action(
        action=f"{phase}/service-{s}/region-{r}/type-{h}",
        phase=phase,
        service=f"service-{s}",
        region=f"region-{r}",
        hardware_type=f"type-{h}",
        before=before,
        after=after,
        approval=approval,
        waits_for=waits,
    )


def _name(p: int, away: int, to: int) -> str:
    return f"shift/product-{p}/region-{away}/region-{to}"
