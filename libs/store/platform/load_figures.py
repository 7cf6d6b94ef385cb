"""Figures of the platform's load, for /metrics. All queries use indexes, so they stay cheap as the tables grow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa

from libs.domain.booking import BEYOND_HORIZON
from libs.domain.power import ROUNDING_W, DomainPower
from libs.domain.region_summary import RegionChurn
from libs.store.platform.database import Transaction

_JOBS = sa.text("""
    SELECT kind, status, count(*) AS jobs, coalesce(extract(epoch FROM now() - min(created_at)), 0) AS oldest_s
    FROM jobs WHERE status IN ('queued', 'running') GROUP BY kind, status""")
_MOVES = sa.text("""
    SELECT name AS region, (SELECT count(*) FROM moves WHERE moves.region_id = regions.region_id AND status = 'running')
    AS running FROM regions""")
_SOLVES = sa.text("""
    SELECT name AS region, extract(epoch FROM finished_at) AS finished_s, report
    FROM regions CROSS JOIN LATERAL (
        SELECT finished_at, report FROM solve_runs
        WHERE solve_runs.region_id = regions.region_id AND status IN ('committed', 'unchanged')
        ORDER BY solve_run_id DESC LIMIT 1) AS latest
    WHERE CAST(:region AS text) IS NULL OR name = :region""")


_QUEUED = sa.text("""
    SELECT regions.name AS region, extract(epoch FROM min(starts_at)) AS since_s
    FROM unavailability_events JOIN regions USING (region_id) WHERE ended_at IS NULL AND state = 'queued'
    GROUP BY regions.name""")
_BOOKINGS = sa.text("""
    SELECT regions.name AS region, count(*) AS bookings,
           CASE WHEN is_promise THEN 'promise'
                WHEN reason = :beyond THEN 'beyond_horizon' ELSE 'no_promise' END AS state
    FROM bookings JOIN reservations USING (reservation_id) JOIN regions USING (region_id)
    WHERE scheduled AND deleted_at IS NULL GROUP BY regions.name, state""")
_LAST_PLAN = sa.text("""
    SELECT extract(epoch FROM finished_at) FROM plan_runs WHERE status = 'done' AND placement_plan_id IS NOT NULL
    ORDER BY plan_run_id DESC LIMIT 1""")


@dataclass(frozen=True, slots=True)
class OpenJobs:
    """The queued or running jobs of a kind, and the age of the oldest in seconds of real time."""

    kind: str
    status: str
    jobs: int
    oldest_s: float


@dataclass(frozen=True, slots=True)
class LastSolve:
    """The last successful solve of a region. A `gap` of None means that no bound is known. `finished_s` counts seconds
    since 1970 on the Clock. A `churn` of None means that the solve had no churn budget. `over_power` counts the domains
    in which its targets draw more than plans may use; None: the region has no watts.
    """

    region: str
    finished_s: float
    gap: float | None
    shortfall_rru: float
    churn: RegionChurn | None
    over_power: int | None


def load_open_jobs(tx: Transaction) -> tuple[OpenJobs, ...]:
    """Return the open jobs by kind and status."""
    return tuple(OpenJobs(row.kind, row.status, row.jobs, float(row.oldest_s)) for row in tx.execute(_JOBS))


def count_running_moves(tx: Transaction) -> dict[str, int]:
    """Return region -> number of running moves."""
    return {row.region: row.running for row in tx.execute(_MOVES)}


def load_last_solves(tx: Transaction, region: str | None = None) -> tuple[LastSolve, ...]:
    """Return the last successful solve of each region, or only of `region`. A region without a successful solve is
    absent.
    """
    return tuple(
        LastSolve(
            row.region,
            float(row.finished_s),
            row.report.get("gap"),
            sum(row.report["shortfall_rru"].values()),
            _churn(row.report),
            _over_power(row.report),
        )
        for row in tx.execute(_SOLVES, {"region": region})
    )


def _churn(report: Mapping[str, Any]) -> RegionChurn | None:
    found = report.get("churn")
    if found is None:
        return None
    numbers = {one.name: found[one.name] for one in fields(RegionChurn)}
    return RegionChurn(**numbers | {"held_back": sum(found["held_back"].values())})


def _over_power(report: Mapping[str, Any]) -> int | None:
    found = report.get("power")
    if found is None:
        return None
    names = [one.name for one in fields(DomainPower)]
    domains = (DomainPower(**{name: one[name] for name in names}) for one in found["domains"])
    return sum(one.allowed_w is not None and one.target_w > one.allowed_w + ROUNDING_W for one in domains)


def count_bookings(tx: Transaction) -> dict[tuple[str, str], int]:
    """Return (region, state) -> the number of reservations that begin later. The state is promise, no_promise or
    beyond_horizon. Leave out what is 0.
    """
    return {(row.region, row.state): row.bookings for row in tx.execute(_BOOKINGS, {"beyond": BEYOND_HORIZON})}


def load_last_plan_s(tx: Transaction) -> float | None:
    """Return the time of the last placement plan, on the Clock, in seconds since 1970; None before the first."""
    found = tx.execute(_LAST_PLAN).scalar_one_or_none()
    return None if found is None else float(found)


def load_maintenance_queues(tx: Transaction) -> dict[str, float]:
    """Return region -> time since which the first of its queued maintenance waits, in seconds since 1970 on the Clock.
    Leave out regions without queued maintenance.
    """
    return {row.region: float(row.since_s) for row in tx.execute(_QUEUED)}
