"""`bench mover`: measure one tick of the mover with many running steps."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from libs.actuators.actuator import StepOutcome, StepRequest, StepState
from libs.domain.arrays import Indices
from libs.domain.fleet import FREE, FleetSnapshot, TargetPlan
from libs.domain.plan import PlanKind
from libs.domain.region_image import RegionImage
from libs.interchange.region.read import load_region
from libs.ras.waves.report import report_waves
from libs.reconcile.call_retries import STEPS
from libs.reconcile.clock import SystemClock
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.moves.moving_state import load_moving_state
from libs.store.plans.plans import commit_plan
from libs.store.platform.database import Database
from libs.store.platform.migrate import migrate
from libs.store.regions.region_import import import_region
from services.mover.move_policy import MovePolicy
from services.mover.reconcilers.advance_moves import AdvanceMoves
from services.standalone.postgres import running_postgres

_REGION = "bench"
_UNDER_WAY = StepOutcome(state=StepState.RUNNING)
_ACCEPTED = StepOutcome(state=StepState.RUNNING, ask_again_s=0.0, call="accepted")
_DONE = StepOutcome(state=StepState.DONE, call="done")


class _Says:
    """An actuator that answers every step in the same way at once, so that only the mover's own time is measured."""

    def __init__(self) -> None:
        self.outcome = _UNDER_WAY

    def perform(self, steps: Sequence[StepRequest]) -> Sequence[StepOutcome]:
        return [self.outcome] * len(steps)


def bench_mover(argv: list[str]) -> dict[str, object]:
    """Return the seconds of a tick with `--moves` running moves, the median of `--runs`, by the actuator's answer.

    state_s        the state that waves rest on is read; two moves wait for each of `--moves`
    waves_s        the waves of these moves are planned, checked and put into words
    waits_s        these servers wait; few may leave, because reservations hold what is promised
    exchange_s     these servers wait to change places with one another. Servers are lent to their reservations, which
                   hold just what is promised. The slowest of these ticks
    start_s        moves start, with twice as many more waiting; from here on hardly anything is promised
    under_way_s    the actuator says that no step has changed
    accepted_s     every step is accepted, with its own time of the next call
    done_s         each step is done, and the next step, or the end, is written
    """
    parser = argparse.ArgumentParser(prog="bench mover")
    parser.add_argument("region", type=Path)
    parser.add_argument("--moves", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args(argv)
    image = load_region(given.region)
    image = replace(image, snapshot=replace(image.snapshot, region=_REGION))
    taken: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as home, running_postgres(Path(home)) as url:
        migrate(url)
        database = Database(url, pool_size=2)
        with database.write() as tx:
            import_region(tx, image, actor="bench", now=datetime.now(UTC))
        _retarget(database, 2 * given.moves)
        _foretell(database, given.runs, taken)
        policy = MovePolicy(moves_max=given.moves, msb_share_max=1.0, attempts_max=3, backoff=STEPS, step_s_max=3600.0)
        says = _Says()
        mover = AdvanceMoves(database, SystemClock(), says, policy, _REGION)
        kinds = (("under_way_s", _UNDER_WAY), ("accepted_s", _ACCEPTED), ("done_s", _DONE))
        for _ in range(given.runs):
            began = time.perf_counter()
            mover.reconcile()
            taken.setdefault("waits_s", []).append(time.perf_counter() - began)
        _retarget(database, given.moves)
        with database.write() as tx:
            tx.execute(sa.text("UPDATE reservations SET capacity_rru = 0.01 * capacity_rru"))
        schedule = [("start_s", _UNDER_WAY), *(kind for _ in range(given.runs) for kind in kinds)]
        asked = 0
        for name, says.outcome in schedule:
            began = time.perf_counter()
            report = mover.reconcile()
            taken.setdefault(name, []).append(time.perf_counter() - began)
            asked = max(asked, report.asked)
        database.close()
    taken["exchange_s"] = [_exchange(image, given)]
    sizes = {"servers": len(image.snapshot.servers), "asked_max": asked, "runs": given.runs}
    return {**sizes, **{name: round(statistics.median(seconds), 2) for name, seconds in taken.items()}}


def _exchange(image: RegionImage, given: argparse.Namespace) -> float:
    """Return the seconds of the slowest tick while reservations exchange two servers for each of `--moves`."""
    with tempfile.TemporaryDirectory() as home, running_postgres(Path(home)) as url:
        migrate(url)
        database = Database(url, pool_size=2)
        with database.write() as tx:
            import_region(tx, image, actor="bench", now=datetime.now(UTC))
            tx.execute(sa.text("UPDATE reservations SET capacity_rru = 1e9 WHERE kind = 'guaranteed'"))
        with database.snapshot() as tx:
            snapshot = load_fleet_snapshot(tx, _REGION)
        servers, target = snapshot.servers, snapshot.servers.target.copy()
        rows = np.flatnonzero(servers.available & (target >= 0) & (servers.current == target))
        rows = np.random.default_rng(0).permutation(rows)[: 2 * given.moves]
        for kind in np.unique(servers.hardware_type[rows]):
            own = rows[servers.hardware_type[rows] == kind]
            target[own] = np.roll(target[own], 1)
        _commit(database, snapshot, target)
        policy = MovePolicy(moves_max=given.moves, msb_share_max=1.0, attempts_max=3, backoff=STEPS, step_s_max=3600.0)
        mover = AdvanceMoves(database, SystemClock(), _Says(), policy, _REGION)
        seconds = []
        for _ in range(given.runs + 2):
            began = time.perf_counter()
            mover.reconcile()
            seconds.append(time.perf_counter() - began)
        database.close()
    return max(seconds)


def _foretell(database: Database, runs: int, taken: dict[str, list[float]]) -> None:
    """Measure the waves of the moves that wait."""
    with database.snapshot() as tx:
        snapshot = load_fleet_snapshot(tx, _REGION)
        for _ in range(runs):
            began = time.perf_counter()
            state = load_moving_state(tx, _REGION)
            taken.setdefault("state_s", []).append(time.perf_counter() - began)
            began = time.perf_counter()
            report_waves(snapshot, snapshot.servers.target, state)
            taken.setdefault("waves_s", []).append(time.perf_counter() - began)


def _retarget(database: Database, number: int) -> None:
    """Remove the target of `number` servers that are bound and up, so that each of these servers must leave and be
    cleaned.
    """
    with database.snapshot() as tx:
        snapshot = load_fleet_snapshot(tx, _REGION)
    servers = snapshot.servers
    rows = np.flatnonzero(servers.available & (servers.target >= 0) & (servers.current == servers.target))[:number]
    target = servers.target.copy()
    target[rows] = FREE
    _commit(database, snapshot, target)


def _commit(database: Database, snapshot: FleetSnapshot, target: Indices) -> None:
    with database.write() as tx:
        plan = TargetPlan(target=target, parent_plan_id=snapshot.target_plan_id)
        parent = snapshot.target_plan_id
        commit_plan(tx, snapshot, plan, kind=PlanKind.SOLVE, now=datetime.now(UTC), parent=parent)
