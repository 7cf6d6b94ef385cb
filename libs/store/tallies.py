"""Counts of processes that nobody scrapes, as sums in one small table: a row per sample and its labels."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.observability.tallies import Key
from libs.store.database import Transaction
from libs.store.tables import tallies


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
