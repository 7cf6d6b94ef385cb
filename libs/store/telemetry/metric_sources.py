"""Prometheus sources of measurements, and the progress of their pulls."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.domain.metric_source import Fills, MetricPull, MetricQuery, MetricSource
from libs.domain.page import Page
from libs.reconcile.errors import StaleGeneration
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound
from libs.store.tables import metric_pulls, metric_sources

NOUN = "metric source"
_S, _P = metric_sources.c, metric_pulls.c
_BOTH = sa.select(*_S, *[c for c in _P if c.name != "metric_source_id"]).select_from(
    metric_sources.outerjoin(metric_pulls, _S.metric_source_id == _P.metric_source_id)
)


def list_sources(tx: Transaction, *, after: int | None = None, limit: int = 1000) -> Page[MetricSource]:
    """Return a page of sources by id."""
    query = _BOTH.where(_S.metric_source_id > (after or 0)).order_by(_S.metric_source_id).limit(limit + 1)
    found = [_source(row) for row in tx.execute(query).mappings()]
    return Page.of(found, limit, lambda source: source.metric_source_id)


def load_source(tx: Transaction, name: str) -> MetricSource:
    """Return one source. Raises NotFound."""
    row = tx.execute(_BOTH.where(_S.name == name)).mappings().one_or_none()
    if row is None:
        raise NotFound(NOUN, name)
    return _source(row)


def set_source(tx: Transaction, name: str, query: MetricQuery, *, generation: int) -> MetricSource:
    """Create a source if `generation` is 0, or else change the source. The next pull starts at the beginning.

    Raises StaleGeneration unless the source is at `generation`.
    """
    values: dict[str, Any] = {**asdict(query), "name": name}
    if generation == 0:
        made = insert(metric_sources).values(values).on_conflict_do_nothing().returning(_S.metric_source_id)
        changed = tx.execute(made).scalar_one_or_none()
    else:
        update = sa.update(metric_sources).where(_S.name == name, _S.generation == generation).values(values)
        changed = tx.execute(update.returning(_S.metric_source_id)).scalar_one_or_none()
    if changed is None:
        raise _stale(tx, name, generation)
    tx.execute(sa.delete(metric_pulls).where(_P.metric_source_id == changed))
    return load_source(tx, name)


def delete_source(tx: Transaction, name: str, *, generation: int) -> None:
    """Delete a source and keep its measurements. Raises NotFound, StaleGeneration."""
    load_source(tx, name)
    if tx.execute(sa.delete(metric_sources).where(_S.name == name, _S.generation == generation)).rowcount == 0:
        raise _stale(tx, name, generation)


def record_pull(tx: Transaction, source: MetricSource, pull: MetricPull) -> None:
    """Record the progress of a pull since the source was read. Raises StaleGeneration if another writer came first.

    If two workers pull one source at once, the second finds the progress of the first and rolls its samples back.
    """
    now = tx.execute(sa.select(_S.generation).where(_S.metric_source_id == source.metric_source_id).with_for_update())
    found = now.scalar_one_or_none()
    if found != source.generation:
        raise StaleGeneration(NOUN, source.name, expected=source.generation, found=found)
    values = {"metric_source_id": source.metric_source_id, **asdict(pull)}
    if source.pull is None:
        statement: Any = insert(metric_pulls).values(values).on_conflict_do_nothing()
    else:
        seen = (_P.metric_source_id == source.metric_source_id, _P.pulled_until == source.pull.pulled_until)
        statement = sa.update(metric_pulls).where(*seen).values(values)
    if tx.execute(statement.returning(_P.metric_source_id)).first() is None:
        raise StaleGeneration(NOUN, source.name, expected=source.generation, found=found)


def _stale(tx: Transaction, name: str, expected: int) -> StaleGeneration:
    found = tx.execute(sa.select(_S.generation).where(_S.name == name)).scalar_one_or_none()
    return StaleGeneration(NOUN, name, expected=expected, found=found)


def _source(row: sa.RowMapping) -> MetricSource:
    query = {name: row[name] for name in MetricQuery.__dataclass_fields__}
    pull = {name: row[name] for name in MetricPull.__dataclass_fields__}
    return MetricSource(
        metric_source_id=row["metric_source_id"],
        name=row["name"],
        query=MetricQuery(**{**query, "fills": Fills(query["fills"])}),
        generation=row["generation"],
        pull=None if row["pulled_until"] is None else MetricPull(**pull),
    )
