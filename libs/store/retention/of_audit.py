"""Retention of the audit trail: what is old is first written to a file, and then deleted.

The role of services may not delete from the audit trail. It may call `forget_audit_entries`, a function of the owner of
the tables. That deletes no entry of the last 30 days by the database's clock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import sqlalchemy as sa

from libs.domain.audit import KEPT_DAYS_MIN, AuditEntry
from libs.store.platform.database import Transaction
from libs.store.tables import audit_entries

_LOOKED_AT = 10
"""Batches that are looked at for one. Ids rise with time, but for a clock that was wrong; nothing indexes the time."""
_OLDEST = f"""
    SELECT * FROM (SELECT * FROM audit_entries ORDER BY audit_entry_id LIMIT {_LOOKED_AT} * :most) AS oldest
    WHERE at < least(:before, clock_timestamp() - interval '{KEPT_DAYS_MIN} days')
    ORDER BY audit_entry_id LIMIT :most"""


def forget_entries(
    tx: Transaction, /, export: Callable[[Sequence[AuditEntry]], object], *, before: datetime, most: int
) -> int:
    """Give up to `most` entries from before `before` to `export`, oldest first, and then delete them. Return their
    number.

    If `export` raises an error, or the process dies, all entries stay. They are then exported again.
    """
    query = sa.text(_OLDEST).columns(*audit_entries.c)
    entries = [AuditEntry(**row) for row in tx.execute(query, {"before": before, "most": most}).mappings()]
    if not entries:
        return 0
    export(entries)
    ids = [entry.audit_entry_id for entry in entries]
    return int(tx.execute(sa.text("SELECT forget_audit_entries(:ids)"), {"ids": ids}).scalar_one())
