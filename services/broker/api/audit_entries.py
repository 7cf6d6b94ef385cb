"""`/v1/audit-entries`: the record of all actions, with actor and time."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from libs.domain.principal import Role
from libs.store.platform.audit import list_entries
from libs.store.platform.subject_names import load_subject_names
from libs.web.auth import Asking
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.model import ID_MAX, Moment, PageOf, Person, ResponseModel, SomeName

router = APIRouter(prefix="/v1/audit-entries", tags=["audit entries"])
_NOUN = "audit-entries"


class AuditEntryOut(ResponseModel):
    """One action. An entry never changes."""

    audit_entry_id: int
    at: datetime
    actor: str
    action: str = Field(examples=["import", "set_in_use"])
    subject_kind: str = Field(examples=["server"])
    subject_id: int
    subject: str | None = Field(
        description="Present name of the subject: of a request the reservation, of an event the place, of a ledger "
        "event its service. null: the subject has none"
    )
    before: dict[str, object] | None
    after: dict[str, object] | None
    reason: str | None
    person: str | None = Field(description="The person behind the actor; null in entries of earlier versions")


@router.get("", operation_id="list_audit_entries")
def get_audit_entries(
    context: Context,
    principal: Asking,
    paging: Paging,
    subject_kind: Annotated[
        SomeName | None, Query(description="Entries about rows of this noun, such as server")
    ] = None,
    subject_id: Annotated[int | None, Query(ge=1, le=ID_MAX, description="Entries about the row with this id")] = None,
    actor: Annotated[Person | None, Query(description="Actions of this token, or of this person who logged in")] = None,
    person: Annotated[Person | None, Query(description="Actions of this person, by login and by tokens")] = None,
    action: Annotated[SomeName | None, Query(description="Only this action, such as set_quota")] = None,
    since: Annotated[Moment | None, Query(description="Only entries from this moment on")] = None,
    until: Annotated[Moment | None, Query(description="Only entries from before this moment")] = None,
    latest_first: Annotated[bool, Query(description="true: the latest come first")] = False,
) -> PageOf[AuditEntryOut]:
    """List audit entries, oldest first unless the query says otherwise.

    Only admins see entries about tokens, because these entries name roles and expiry dates.
    """
    without = None if principal.role.includes(Role.ADMIN) else "token"
    after = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        page = list_entries(
            tx,
            subject_kind=subject_kind,
            subject_id=subject_id,
            actor=actor,
            person=person,
            action=action,
            since=since,
            until=until,
            latest_first=latest_first,
            without_kind=without,
            after=after,
            limit=paging.limit,
        )
        names = load_subject_names(tx, ((entry.subject_kind, entry.subject_id) for entry in page.items))
    items = [
        AuditEntryOut(**asdict(entry), subject=names.get((entry.subject_kind, entry.subject_id)))
        for entry in page.items
    ]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))
