"""Simulations. A worker runs a requested simulation. The answer is stored for a while, and applied at most once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from libs.domain.page import Page
from libs.domain.policy_rollout import OPEN, RolloutStage
from libs.domain.simulation import SimulatedChange, Simulation, SimulationStatus, WhatIf, what_if_of
from libs.domain.stored_policy import DEFAULTS
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction
from libs.store.platform.errors import told
from libs.store.platform.refusals import NotFound
from libs.store.tables import jobs, policy_rollouts, regions, simulations

_OF_REGION = sa.literal(DEFAULTS, JSONB).concat(regions.c.policy)
_IS_NEW_POLICY = ~_OF_REGION.contains(simulations.c.what_if["policy"])
_ENDED = sa.and_(
    policy_rollouts.c.stage == RolloutStage.SUPERSEDED, policy_rollouts.c.stage_at == simulations.c.applied_at
)
_ENDS = sa.and_(policy_rollouts.c.stage.in_(OPEN), simulations.c.applied_at.is_(None), _IS_NEW_POLICY)
_ENDS_ROLLOUT = (
    sa.select(sa.func.max(policy_rollouts.c.policy_rollout_id))
    .where(policy_rollouts.c.region_id == simulations.c.region_id, sa.or_(_ENDS, _ENDED))
    .correlate(simulations, regions)
    .scalar_subquery()
)
_ALL = (*simulations.c, regions.c.name.label("region"), _ENDS_ROLLOUT.label("ends_rollout_id"))
_COLUMNS = sa.select(*_ALL).join_from(simulations, regions)
# Leave reservations and domains out of the reports: each report names many, too many for a page.
# An older version stored the document `null` for a failed simulation, on which the operator `-` fails.
_BRIEF = sa.select(
    *(column for column in _ALL if column.name != "report"),
    sa.func.nullif(simulations.c.report, sa.text("'null'::jsonb"))
    .op("-")(sa.literal("reservations", sa.Text))
    .op("-")(sa.literal("short_of", sa.Text))
    .op("-")(sa.literal("power", sa.Text))
    .op("#-")(sa.text("'{uplinks,racks}'"))
    .op("#-")(sa.text("'{waves,reservations}'"))
    .label("report"),
).join_from(simulations, regions)
_OVER = (SimulationStatus.DONE, SimulationStatus.FAILED, SimulationStatus.CANCELLED)


def create_simulation(tx: Transaction, region_id: int, what_if: WhatIf, *, requested_by: str, now: datetime) -> int:
    """Create a queued simulation and return its id."""
    values = {
        "region_id": region_id,
        "requested_by": requested_by,
        "what_if": what_if.as_dict(),
        "status": SimulationStatus.QUEUED,
        "progress": {},
        "created_at": now,
    }
    return int(tx.execute(sa.insert(simulations).values(values).returning(simulations.c.simulation_id)).scalar_one())


def start_simulation(tx: Transaction, simulation_id: int, *, now: datetime) -> bool:
    """Start a simulation, or start it again after its worker died. Return False if the simulation is over."""
    statement = (
        sa.update(simulations)
        .where(simulations.c.simulation_id == simulation_id, simulations.c.status.not_in(_OVER))
        .values(status=SimulationStatus.RUNNING, started_at=now)
    )
    return tx.execute(statement).rowcount == 1


def record_simulation_progress(tx: Transaction, simulation_id: int, progress: Mapping[str, object]) -> bool:
    """Store the latest progress. Return True if cancelling was requested."""
    statement = (
        sa.update(simulations)
        .where(simulations.c.simulation_id == simulation_id)
        .values(progress=dict(progress))
        .returning(simulations.c.cancel_requested)
    )
    return bool(tx.execute(statement).scalar_one())


def finish_simulation(
    tx: Transaction,
    simulation_id: int,
    status: SimulationStatus,
    *,
    now: datetime,
    report: Mapping[str, object] | None = None,
    rests_on: Mapping[str, str] | None = None,
    bundle: str | None = None,
    error: str | None = None,
    changes: Sequence[SimulatedChange] = (),
) -> bool:
    """Finish a simulation with its answer. Return False, and change nothing, unless it is running."""
    values = {
        "status": status,
        "report": report,
        "rests_on": rests_on,
        "bundle": bundle,
        "error": told(error),
        "finished_at": now,
    }
    statement = sa.update(simulations).where(
        simulations.c.simulation_id == simulation_id, simulations.c.status == SimulationStatus.RUNNING
    )
    if tx.execute(statement.values(values)).rowcount != 1:
        return False
    insert = """
        INSERT INTO simulation_changes (simulation_id, server_id, server_generation, to_reservation)
        SELECT :simulation_id, * FROM unnest(CAST(:servers AS bigint[]), CAST(:generations AS bigint[]),
                                             CAST(:names AS text[]))"""
    tx.execute(
        sa.text(insert),
        {
            "simulation_id": simulation_id,
            "servers": [change.server_id for change in changes],
            "generations": [change.generation for change in changes],
            "names": [change.to_reservation for change in changes],
        },
    )
    return True


def cancel_simulation(tx: Transaction, simulation_id: int, *, job_kind: str, now: datetime) -> bool:
    """Cancel a queued simulation, or ask a running simulation to stop. Return False if the simulation is over.

    Cancel a running simulation at once if it has no queued or running job of `job_kind`, because its workers died too
    often.
    """
    chosen = sa.update(simulations).where(simulations.c.simulation_id == simulation_id)
    job = sa.select(jobs.c.job_id).where(
        jobs.c.kind == job_kind, jobs.c.subject == str(simulation_id), jobs.c.status.in_(("queued", "running"))
    )
    runs = simulations.c.status == SimulationStatus.RUNNING
    idle = sa.or_(simulations.c.status == SimulationStatus.QUEUED, sa.and_(runs, ~sa.exists(job)))
    cancelled = {"status": SimulationStatus.CANCELLED, "cancel_requested": True, "finished_at": now}
    if tx.execute(chosen.where(idle).values(cancelled)).rowcount == 1:
        return True
    return tx.execute(chosen.where(runs).values(cancel_requested=True)).rowcount == 1


def mark_applied(tx: Transaction, simulation_id: int, *, plan_id: int | None, applied_by: str, now: datetime) -> bool:
    """Mark a simulation as applied. Return False if the simulation is applied already or is not done."""
    statement = (
        sa.update(simulations)
        .where(
            simulations.c.simulation_id == simulation_id,
            simulations.c.status == SimulationStatus.DONE,
            simulations.c.applied_at.is_(None),
        )
        .values(applied_plan_id=plan_id, applied_by=applied_by, applied_at=now)
    )
    return tx.execute(statement).rowcount == 1


def forget_simulations(tx: Transaction, region_id: int, *, most: int) -> int:
    """Delete finished simulations of a region that were not applied, except the newest `most`; return their number."""
    newest = (
        sa.select(simulations.c.simulation_id)
        .where(simulations.c.region_id == region_id)
        .order_by(simulations.c.simulation_id.desc())
        .limit(most)
    )
    old = sa.delete(simulations).where(
        simulations.c.region_id == region_id,
        simulations.c.status.in_(_OVER),
        simulations.c.applied_at.is_(None),
        simulations.c.simulation_id.not_in(newest),
    )
    return tx.execute(old).rowcount


def load_simulation(tx: Transaction, simulation_id: int) -> Simulation:
    """Return one simulation. Raises NotFound."""
    row = tx.execute(_COLUMNS.where(simulations.c.simulation_id == simulation_id)).mappings().one_or_none()
    if row is None:
        raise NotFound("simulation", simulation_id)
    return _simulation(row)


def list_simulations(tx: Transaction, *, region: str | None, after: int | None, limit: int) -> Page[Simulation]:
    """Return a page of simulations, latest first, with reports without reservations; `after` is the last page's last
    id. Raises NotFound for the region.
    """
    query = _BRIEF.order_by(simulations.c.simulation_id.desc()).limit(limit + 1)
    if region is not None:
        query = query.where(simulations.c.region_id == load_region(tx, region).region_id)
    if after is not None:
        query = query.where(simulations.c.simulation_id < after)
    found = [_simulation(row) for row in tx.execute(query).mappings()]
    return Page.of(found, limit, lambda simulation: simulation.simulation_id)


def load_simulated_changes(tx: Transaction, simulation_id: int) -> list[SimulatedChange]:
    """Return the servers to which the simulation's answer gives another target, in order of id."""
    query = """SELECT server_id, server_generation AS generation, to_reservation FROM simulation_changes
               WHERE simulation_id = :simulation_id ORDER BY server_id"""
    rows = tx.execute(sa.text(query), {"simulation_id": simulation_id}).mappings()
    return [SimulatedChange(**row) for row in rows]


def _simulation(row: sa.RowMapping) -> Simulation:
    fields = {name: row[name] for name in Simulation.__dataclass_fields__}
    return Simulation(**{**fields, "status": SimulationStatus(row["status"]), "what_if": what_if_of(row["what_if"])})
