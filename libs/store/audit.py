"""Who did what, when, and what it was before: written with every change, never rewritten."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import sqlalchemy as sa

from libs.domain.audit import AuditEntry
from libs.domain.page import Page
from libs.store.database import Transaction
from libs.store.tables import audit_entries


def append(
    tx: Transaction,
    *,
    actor: str,
    action: str,
    subject_kind: str,
    subject_id: int,
    now: datetime,
    before: Mapping[str, object] | None = None,
    after: Mapping[str, object] | None = None,
    reason: str | None = None,
) -> None:
    """Add one entry: `actor` did `action` (a verb, such as "import") to the row `subject_id` of a noun."""
    tx.execute(
        audit_entries.insert().values(
            at=now,
            actor=actor,
            action=action,
            subject_kind=subject_kind,
            subject_id=subject_id,
            before=sa.null() if before is None else before,
            after=sa.null() if after is None else after,
            reason=reason,
        )
    )


def list_entries(
    tx: Transaction, *, subject_kind: str | None = None, subject_id: int | None = None, after: int = 0, limit: int = 100
) -> Page[AuditEntry]:
    """Entries, oldest first; of one subject where it is named."""
    table = audit_entries
    query = sa.select(table).where(table.c.audit_entry_id > after).order_by(table.c.audit_entry_id).limit(limit + 1)
    if subject_kind is not None:
        query = query.where(table.c.subject_kind == subject_kind)
    if subject_id is not None:
        query = query.where(table.c.subject_id == subject_id)
    entries = [AuditEntry(**row) for row in tx.execute(query).mappings()]
    return Page.of(entries, limit, lambda entry: entry.audit_entry_id)
