"""Counts of processes that nobody scrapes, as sums in one small table: a row per sample and its labels."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import InterfaceError, OperationalError, TimeoutError
from structlog import get_logger

from libs.observability.tallies import Key, put_back, take
from libs.store.database import Database, Locked, Transaction, briefly
from libs.store.tables import tallies

_WAIT_S = 2.0
log = get_logger(__name__)


def write_tallies(database: Database) -> None:
    """Add what this process gathered to the sums, in a transaction of its own.

    The rows are few and every process writes them. So no other work waits for them: where another transaction holds
    one for long, or the database is away, the counts wait for the next time.
    """
    counts = take()
    if not counts:
        return
    written = False
    try:
        with database.write() as tx:
            with briefly(tx, _WAIT_S):
                add_tallies(tx, counts)
            written = True  # a commit of unknown outcome is taken for done: nothing is counted twice
    except (Locked, OperationalError, InterfaceError, TimeoutError):
        if not written:
            put_back(counts)
        log.warning("tallies.not_written", samples=len(counts), lost=written)


def add_tallies(tx: Transaction, counts: Mapping[Key, float]) -> None:
    """Add to the sums. In one order of rows, so that two at once wait for each other and never deadlock."""
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
    """All sums. The table is as small as the labels are few."""
    return {(row.name, tuple(row.labels)): row.value for row in tx.execute(sa.select(tallies))}
