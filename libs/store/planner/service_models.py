"""Service models of plan runs. Each run has its own."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from libs.domain.page import Page
from libs.domain.plan_run import StoredModel
from libs.store.platform.database import Transaction
from libs.store.tables import plan_runs, service_models

_T = service_models.c
_LONG = ["attribution", "baseline", "residual", "elsewhere"]


def save_service_models(tx: Transaction, plan_run_id: int, models: Mapping[str, Mapping[str, object]]) -> None:
    """Store a run's models by service. Replace the models of an earlier attempt."""
    tx.execute(sa.delete(service_models).where(_T.plan_run_id == plan_run_id))
    rows = [
        {"plan_run_id": plan_run_id, "service": name, "confidence": model["confidence"], "document": dict(model)}
        for name, model in models.items()
    ]
    if rows:
        tx.execute(sa.insert(service_models), rows)


def load_latest_modelled_run(tx: Transaction) -> int | None:
    """Return the latest run that has models; None if there is none."""
    found: int | None = tx.execute(sa.select(sa.func.max(_T.plan_run_id))).scalar_one()
    return found


def list_service_models(
    tx: Transaction,
    plan_run_id: int,
    *,
    service: str | None = None,
    confidence: str | None = None,
    brief: bool = False,
    after: int | None = None,
    limit: int,
) -> Page[StoredModel]:
    """Return a page of a run's models by id; `after` is the id that the last page ended with.

    brief   leave out of the documents what grows with products and regions
    """
    document = _T.document.op("-")(sa.literal(_LONG, ARRAY(sa.Text))).label("document") if brief else _T.document
    columns = [column for column in _T if column.name != "document"]
    query = sa.select(*columns, document).where(_T.plan_run_id == plan_run_id, _T.service_model_id > (after or 0))
    if service is not None:
        query = query.where(_T.service == service)
    if confidence is not None:
        query = query.where(_T.confidence == confidence)
    rows = tx.execute(query.order_by(_T.service_model_id).limit(limit + 1)).mappings()
    return Page.of([StoredModel(**row) for row in rows], limit, lambda model: model.service_model_id)


def forget_service_models(tx: Transaction, *, most: int) -> int:
    """Delete the models of all runs except the newest `most` runs. Return the number of deleted models."""
    kept = sa.select(plan_runs.c.plan_run_id).order_by(plan_runs.c.plan_run_id.desc()).limit(most)
    return tx.execute(sa.delete(service_models).where(_T.plan_run_id.not_in(kept))).rowcount
