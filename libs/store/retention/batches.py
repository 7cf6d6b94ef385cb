"""Delete old rows batch by batch. Every periodic deletion by age goes through forget_all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

import sqlalchemy as sa
from structlog import get_logger

from libs.observability.tallies import FORGOTTEN
from libs.store.platform.database import Database, Transaction

log = get_logger(__name__)
BATCH = 10_000
"""Largest number of rows of a table per transaction. It is small, so that other transactions do not wait long. Only a
row with more dependents than this takes all of them along, because half an import or simulation would say what was not
so.
"""


class Forget(Protocol):
    """One kind of deletion."""

    def __call__(self, tx: Transaction, /, *, before: datetime, most: int) -> int:
        """Delete up to `most` rows from before `before`, with the rows that belong to them. Return the number of the
        former; 0 only if none is left.
        """


def forget_all(database: Database, forgets: Mapping[str, Forget], *, before: datetime, most: int = BATCH) -> int:
    """Delete all rows from before `before`, each batch in its own transaction. Return the number of deleted rows.

    A table that cannot be deleted from does not make the others grow: its error is raised when they are done.

    forgets   the name of a table -> its deletion, in an order that the foreign keys allow
    """
    forgotten, errors = 0, list[Exception]()
    for table, forget in forgets.items():
        try:
            forgotten += _all(database, table, forget, before, most)
        except Exception as error:
            log.exception("retention.failed", table=table)
            errors.append(error)
    if errors:
        raise errors[0]
    return forgotten


def first_owners(tx: Transaction, owners: Sequence[int], dependents: Sequence[str], *, most: int) -> Sequence[int]:
    """Return as many of the first `owners` as have at most `most` rows in each of `dependents` together; at least one.

    dependents   SQL for the rows of one owner, without SELECT: `FROM import_items WHERE import_id = owner`
    """
    for rows in dependents:
        # The first owner above the limit. LIMIT and OFFSET stop the reading there, however many rows follow.
        query = f"""
            SELECT owner FROM unnest(CAST(:owners AS bigint[])) AS owner
            CROSS JOIN LATERAL (SELECT {rows} LIMIT :most + 1) AS owned OFFSET :most LIMIT 1"""
        above = tx.execute(sa.text(query), {"owners": list(owners), "most": most}).scalar()
        if above is not None:
            owners = owners[: max(1, owners.index(above))]
    return owners


def _all(database: Database, table: str, forget: Forget, before: datetime, most: int) -> int:
    forgotten, batch = 0, 1
    while batch:
        with database.write() as tx:
            batch = forget(tx, before=before, most=most)
        FORGOTTEN.count(table, by=batch)
        forgotten += batch
    return forgotten


def allow_forgetting(tx: Transaction) -> None:
    """Let this transaction delete from append-only tables with a retention. Triggers refuse it to all others."""
    tx.exec_driver_sql("SET LOCAL plimsoll.forgetting = 'on'")
