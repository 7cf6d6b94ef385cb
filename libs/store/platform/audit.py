"""The audit trail. An entry is written with every change and never rewritten.

A write of the store that takes an `actor` appends its own entry. For all other writes, the calling service appends the
entry (docs/adr/0039-the-one-that-takes-the-actor-appends.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from libs.domain.audit import AuditEntry
from libs.domain.page import Page
from libs.store.platform.database import Transaction
from libs.store.tables import audit_entries, tokens


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
    """Add one entry: `actor` did `action` (a verb, such as "import") to the row `subject_id` of a noun.

    The entry also gets the person behind the actor, as of now.
    """
    append_each(
        tx,
        [subject_id],
        actor=actor,
        action=action,
        subject_kind=subject_kind,
        now=now,
        before=before,
        after=after,
        reason=reason,
    )


def append_each(
    tx: Transaction,
    subject_ids: Sequence[int],
    *,
    actor: str,
    action: str,
    subject_kind: str,
    now: datetime,
    before: Mapping[str, object] | None = None,
    after: Mapping[str, object] | None = None,
    reason: str | None = None,
) -> None:
    """Add the same entry for each row of `subject_ids`, in one statement."""
    subjects = sa.func.unnest(sa.cast(list(subject_ids), ARRAY(sa.BigInteger))).column_valued()
    of_token = sa.select(tokens.c.person).where(tokens.c.name == actor).scalar_subquery()
    values: dict[str, Any] = {
        "at": sa.literal(now),
        "actor": sa.literal(actor),
        "action": sa.literal(action),
        "subject_kind": sa.literal(subject_kind),
        "subject_id": subjects,
        "before": _json(before),
        "after": _json(after),
        "reason": sa.literal(reason, sa.Text),
        "person": sa.func.coalesce(of_token, actor),
    }
    tx.execute(audit_entries.insert().from_select(list(values), sa.select(*values.values())))


def _json(value: Mapping[str, object] | None) -> sa.ColumnElement[object]:
    return sa.cast(sa.null() if value is None else sa.literal(dict(value), JSONB), JSONB)


def list_entries(
    tx: Transaction,
    *,
    subject_kind: str | None = None,
    subject_id: int | None = None,
    actor: str | None = None,
    person: str | None = None,
    action: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    without_kind: str | None = None,
    latest_first: bool = False,
    after: int | None = None,
    limit: int = 100,
) -> Page[AuditEntry]:
    """Return a page of entries, filtered by what is given. `after` is the last id of the page before.

    since, until   only entries from `since` on, and from before `until`. Nothing indexes the time, so that writes stay
                   cheap, and a clock that was wrong hides nothing
    without_kind   leave out entries about subjects of this kind
    latest_first   the latest entries come first, else the oldest
    """
    c = audit_entries.c
    order = c.audit_entry_id.desc() if latest_first else c.audit_entry_id
    query = sa.select(audit_entries).order_by(order).limit(limit + 1)
    if after is not None:
        query = query.where(c.audit_entry_id < after if latest_first else c.audit_entry_id > after)
    for column, value in (
        (c.subject_kind, subject_kind),
        (c.subject_id, subject_id),
        (c.actor, actor),
        (c.person, person),
        (c.action, action),
    ):
        if value is not None:
            query = query.where(column == value)
    if without_kind is not None:
        query = query.where(c.subject_kind != without_kind)
    if since is not None:
        query = query.where(c.at >= since)
    if until is not None:
        query = query.where(c.at < until)
    entries = [AuditEntry(**row) for row in tx.execute(query).mappings()]
    return Page.of(entries, limit, lambda entry: entry.audit_entry_id)
