"""Delete old rows batch by batch. Every periodic deletion by age goes through forget_all."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from libs.observability.tallies import FORGOTTEN
from libs.store.platform.database import Database, Transaction

BATCH = 10_000
"""Largest number of rows per transaction. It is small, so that other transactions do not wait long."""


class Forget(Protocol):
    """One kind of deletion."""

    def __call__(self, tx: Transaction, /, *, before: datetime, most: int) -> int:
        """Delete up to `most` rows from before `before`, with the rows that belong to them. Return the number of the
        former.
        """


def forget_all(database: Database, forgets: Mapping[str, Forget], *, before: datetime, most: int = BATCH) -> int:
    """Delete all rows from before `before`, each batch in its own transaction. Return the number of deleted rows.

    forgets   the name of a table -> its deletion, in an order that the foreign keys allow
    """
    return sum(_all(database, table, forget, before, most) for table, forget in forgets.items())


def _all(database: Database, table: str, forget: Forget, before: datetime, most: int) -> int:
    forgotten, batch = 0, most
    while batch >= most:
        with database.write() as tx:
            batch = forget(tx, before=before, most=most)
        FORGOTTEN.count(table, by=batch)
        forgotten += batch
    return forgotten


def allow_forgetting(tx: Transaction) -> None:
    """Let this transaction delete from append-only tables with a retention. Triggers refuse it to all others."""
    tx.exec_driver_sql("SET LOCAL plimsoll.forgetting = 'on'")
