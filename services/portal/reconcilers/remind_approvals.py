"""Remind people of approvals that wait: once for each interval and recipient, and never twice."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from structlog import get_logger

from libs.carriers.reminder import ReminderSender
from libs.domain.reminder import Reminder, ReminderCall, ReminderStatus
from libs.observability.tallies import REMINDERS
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.store.executions.reminders import (
    change_reminder,
    enter_reminders,
    give_up_reminders,
    load_due_reminders,
    load_waiting_items,
)
from libs.store.platform.database import Database, Transaction

log = get_logger(__name__)
NAMED_MAX = 100
"""Largest number of approvals that one reminder names."""


@dataclass(frozen=True, slots=True)
class RemindApprovals:
    """The reconciler of reminders.

    sender  None: no receiver is set up, and nothing is sent
    """

    database: Database
    clock: Clock
    sender: ReminderSender | None
    every_s: float
    attempts_max: int

    def reconcile(self) -> int:
        """Send what is due in the present interval. Return the number of reminders sent.

        The row says that a call begins before it does. A process that dies in between leaves a call whose outcome is
        not known, and that is never made again.
        """
        if self.sender is None:
            return 0
        now = self.clock.now()
        due_at = datetime.fromtimestamp(now.timestamp() // self.every_s * self.every_s, UTC)
        with self.database.write() as tx:
            lost = give_up_reminders(tx, due_at)
            enter_reminders(tx, due_at, waits_since=now - timedelta(seconds=self.every_s))
            due = [self._call(tx, one) for one in load_due_reminders(tx, due_at)]
            due = [one for one in due if self._begins(tx, one.reminder)]
        if lost:
            REMINDERS.count("lost", by=lost)
        crash_point("portal.remind.before")
        sent = self.sender.send(due, now) if due else ()
        crash_point("portal.remind.after")
        with self.database.write() as tx:
            for one, (status, message) in zip(due, sent, strict=True):
                change_reminder(tx, one.reminder, status, was=ReminderStatus.CALLING, message=message)
        for one, (status, message) in zip(due, sent, strict=True):
            REMINDERS.count(status.value)
            log.info("approvals.reminded", recipient=one.reminder.recipient, status=status.value, message=message)
        return sum(status is ReminderStatus.SENT for status, _ in sent)

    def _call(self, tx: Transaction, one: Reminder) -> ReminderCall:
        return ReminderCall(reminder=one, items=load_waiting_items(tx, one.recipient, most=NAMED_MAX))

    def _begins(self, tx: Transaction, one: Reminder) -> bool:
        if one.attempts >= self.attempts_max:
            change_reminder(tx, one, ReminderStatus.FAILED, was=ReminderStatus.DUE, message="no attempt arrived")
            return False
        return change_reminder(tx, one, ReminderStatus.CALLING, was=ReminderStatus.DUE)
