"""Reminders of approvals that wait: one for each interval and recipient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

OPERATORS = ""
"""The recipient of what only operators decide."""


class ReminderStatus(StrEnum):
    """Status of a reminder: due -> calling -> sent | failed | unknown, or due again after a call that did not count."""

    DUE = "due"
    CALLING = "calling"
    """A call has begun, and its outcome is not known yet."""
    SENT = "sent"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """It may have arrived. It is not sent again: the next interval has a reminder of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder:
    """One reminder.

    recipient  an owner, or OPERATORS
    due_at     start of its interval
    waiting    number of approvals that wait for the recipient
    attempts   calls that have begun
    """

    recipient: str
    due_at: datetime
    status: ReminderStatus
    attempts: int
    waiting: int
    oldest_at: datetime

    @property
    def key(self) -> str:
        """Return the key of its call: each interval has one."""
        return f"approvals/{self.recipient or 'operators'}/{self.due_at.timestamp():.0f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingItem:
    """One approval that a reminder names."""

    approval_id: int
    kind: str
    region: str | None
    subject: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderCall:
    """A reminder with the approvals that wait longest."""

    reminder: Reminder
    items: Sequence[WaitingItem]
