"""Write a row that has a generation, unless it was written since it was read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.store.platform.database import Transaction


def put_at_generation(
    tx: Transaction, table: sa.Table, key: Mapping[str, Any], values: Mapping[str, Any], *, generation: int
) -> int | None:
    """Write `values` to the row with the unique `key`, and return its new generation; None: it is at another one.

    generation   the one that was read; 0: there was no such row
    """
    statement: Any
    if generation == 0:
        statement = insert(table).values({**key, **values}).on_conflict_do_nothing()
    else:
        same = [table.c[name] == value for name, value in key.items()]
        statement = sa.update(table).where(*same, table.c.generation == generation).values(dict(values))
    return tx.execute(statement.returning(table.c.generation)).scalar_one_or_none()
