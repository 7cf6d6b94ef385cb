"""The quality of service models over plan runs: residuals and errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from libs.store.platform.database import Transaction

# Runs for review, and those of a what-if, do not become the target. Their models are those of the same measurements.
_RUNS = sa.text("""
    SELECT plan_run_id, finished_at FROM plan_runs
    WHERE status = 'done' AND NOT dry_run AND EXISTS (
        SELECT FROM service_models AS m WHERE m.plan_run_id = plan_runs.plan_run_id)
    ORDER BY plan_run_id DESC LIMIT :last""")
_LARGEST = sa.text("""
    SELECT service FROM service_models, LATERAL (
        SELECT sum(value::float8) AS capacity FROM jsonb_each_text(document -> 'baseline')) AS measured
    WHERE plan_run_id = :latest ORDER BY capacity DESC, service LIMIT :most""")
_FIGURES = sa.text("""
    SELECT plan_run_id, service, (document ->> 'error')::float8 AS error,
           (SELECT sum(abs(value::float8)) FROM jsonb_each_text(document -> 'residual')) AS residual,
           (SELECT sum(value::float8) FROM jsonb_each_text(document -> 'baseline')) AS capacity
    FROM service_models WHERE plan_run_id = ANY(:runs) AND service = ANY(:services)""")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFigures:
    """The model of a service in one run.

    residual   sum over regions of the absolute residual, as a share of the capacity; None: no capacity
    error      of the model, as the run reported it
    capacity   measured, over all regions, in units of the service's hardware type
    """

    plan_run_id: int
    service: str
    residual: float | None
    error: float
    capacity: float


def load_modelled_runs(tx: Transaction, *, last: int) -> tuple[tuple[int, datetime], ...]:
    """Return id and end of the latest runs whose plan became the target and whose models are kept, oldest first."""
    rows = tx.execute(_RUNS, {"last": last}).all()
    return tuple((row.plan_run_id, row.finished_at) for row in reversed(rows))


def load_largest_services(tx: Transaction, plan_run_id: int, *, most: int) -> tuple[str, ...]:
    """Return the services with the largest measured capacity in a run, largest first."""
    return tuple(tx.execute(_LARGEST, {"latest": plan_run_id, "most": most}).scalars())


def load_model_figures(tx: Transaction, runs: Sequence[int], services: Sequence[str]) -> tuple[ModelFigures, ...]:
    """Return the figures of these services in these runs, as far as they have a model there."""
    rows = tx.execute(_FIGURES, {"runs": list(runs), "services": list(services)})
    return tuple(
        ModelFigures(
            plan_run_id=row.plan_run_id,
            service=row.service,
            residual=row.residual / row.capacity if row.capacity else None,
            error=row.error,
            capacity=row.capacity or 0.0,
        )
        for row in rows
    )
