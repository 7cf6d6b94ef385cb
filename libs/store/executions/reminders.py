"""Reminders of approvals that wait. A row per recipient and interval, written before its call."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from libs.domain.reminder import Reminder, ReminderStatus, WaitingItem
from libs.store.platform.database import Transaction
from libs.store.tables import approval_reminders

_T = approval_reminders.c
_ENTER = sa.text("""
    INSERT INTO approval_reminders (recipient, due_at, status, attempts, waiting, oldest_at)
    SELECT coalesce(for_owner, ''), :due_at, 'due', 0, count(*), min(created_at)
    FROM approvals WHERE status = 'pending' AND created_at <= :waits_since GROUP BY coalesce(for_owner, '')
    ON CONFLICT DO NOTHING""")
_ITEMS = sa.text("""
    SELECT approval_id, kind, coalesce(regions.name, change ->> 'region') AS region, change ->> 'action' AS subject,
        approvals.created_at
    FROM approvals LEFT JOIN regions USING (region_id)
    WHERE status = 'pending' AND coalesce(for_owner, '') = :recipient
    ORDER BY approvals.created_at, approval_id LIMIT :most""")


def enter_reminders(tx: Transaction, due_at: datetime, *, waits_since: datetime) -> None:
    """Enter the reminders of an interval: one for each recipient for whom something waits since `waits_since`. Those
    that exist stay.
    """
    tx.execute(_ENTER, {"due_at": due_at, "waits_since": waits_since})


def give_up_reminders(tx: Transaction, due_at: datetime) -> int:
    """Settle what was left behind: a call without an outcome is unknown, and an earlier interval is over. Return the
    number of reminders that may have arrived or did not.
    """
    over = sa.or_(_T.status == ReminderStatus.CALLING, sa.and_(_T.status == ReminderStatus.DUE, _T.due_at < due_at))
    status = sa.case((_T.status == ReminderStatus.CALLING, "unknown"), else_="failed")
    return tx.execute(sa.update(approval_reminders).where(over).values(status=status)).rowcount


def load_due_reminders(tx: Transaction, due_at: datetime) -> tuple[Reminder, ...]:
    """Return the reminders of an interval that are still to be sent."""
    query = sa.select(*(_T[name] for name in Reminder.__dataclass_fields__))
    rows = tx.execute(query.where(_T.due_at == due_at, _T.status == ReminderStatus.DUE).order_by(_T.recipient))
    return tuple(Reminder(**{**row, "status": ReminderStatus(row["status"])}) for row in rows.mappings())


def load_waiting_items(tx: Transaction, recipient: str, *, most: int) -> tuple[WaitingItem, ...]:
    """Return the approvals that wait longest for a recipient."""
    rows = tx.execute(_ITEMS, {"recipient": recipient, "most": most}).mappings()
    return tuple(WaitingItem(**row) for row in rows)


def change_reminder(
    tx: Transaction, one: Reminder, status: ReminderStatus, *, was: ReminderStatus, message: str | None = None
) -> bool:
    """Change the status of a reminder. Return False, and change nothing, unless its status is still `was`. A call that
    begins counts as an attempt.
    """
    key = sa.and_(_T.recipient == one.recipient, _T.due_at == one.due_at, _T.status == was)
    values: dict[str, object] = {"status": status, "message": message}
    if status is ReminderStatus.CALLING:
        values["attempts"] = one.attempts + 1
    return tx.execute(sa.update(approval_reminders).where(key).values(values)).rowcount == 1
