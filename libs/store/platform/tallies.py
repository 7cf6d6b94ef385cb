"""Counts from processes that Prometheus does not scrape, summed in one small table with a row per sample and labels."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import InterfaceError, OperationalError, TimeoutError
from structlog import get_logger

from libs.observability.tallies import Key, put_back, take
from libs.store.platform.database import Database, Locked, Transaction, briefly
from libs.store.tables import tallies

_WAIT_S = 2.0
log = get_logger(__name__)


def write_tallies(database: Database) -> None:
    """Add the counts of this process to the sums, in a transaction of its own.

    All processes write the same few rows, so the transaction does nothing else. If a row is locked for long, or the
    database is away, keep the counts for the next call.
    """
    counts = take()
    if not counts:
        return
    written = False
    try:
        with database.write() as tx:
            with briefly(tx, _WAIT_S):
                add_tallies(tx, counts)
            written = True  # treat a commit of unknown outcome as done, so that no count is added twice
    except (Locked, OperationalError, InterfaceError, TimeoutError):
        if not written:
            put_back(counts)
        log.warning("tallies.not_written", samples=len(counts), lost=written)


def add_tallies(tx: Transaction, counts: Mapping[Key, float]) -> None:
    """Add counts to the sums. Write rows in a fixed order, so that concurrent calls do not deadlock."""
    if not counts:
        return
    rows = [{"name": name, "labels": list(labels), "value": counts[name, labels]} for name, labels in sorted(counts)]
    statement = insert(tallies).values(rows)
    tx.execute(
        statement.on_conflict_do_update(
            index_elements=["name", "labels"], set_={"value": tallies.c.value + statement.excluded.value}
        )
    )


def load_tallies(tx: Transaction) -> dict[Key, float]:
    """Return all sums of counts. The table is small, because there are few labels."""
    return {(row.name, tuple(row.labels)): row.value for row in tx.execute(sa.select(tallies))}
