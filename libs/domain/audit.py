"""The audit trail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

KEPT_DAYS_MIN = 30
"""Days for which the database itself refuses to delete an entry; migration 0041 has the number too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One action: the actor, the subject, the time, and the values before and after.

    person   the person behind the actor; None in entries from before persons were recorded
    """

    audit_entry_id: int
    at: datetime
    actor: str
    action: str
    subject_kind: str
    subject_id: int
    before: Mapping[str, object] | None
    after: Mapping[str, object] | None
    reason: str | None
    person: str | None
