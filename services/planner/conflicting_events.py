"""Say which live events a proposal conflicts with."""

from __future__ import annotations

from libs.domain.capacity_conflict import Conflict, ConflictKind
from libs.domain.capacity_event import CapacityEvent
from libs.store.ledger.proposals import ConflictingEvents
from libs.web.problems import Problem

_SHOWN_MAX = 100
"""Largest number of conflicts in one answer, and of events in one conflict."""


def conflict_problem(error: ConflictingEvents) -> Problem:
    """Return a 409 that names each event in question."""
    shown = error.conflicts[:_SHOWN_MAX]
    rest = len(error.conflicts) - 1
    more = f" {rest} more of the proposed events conflict." if rest else ""
    return Problem(
        409, "conflicting_events", _sentence(shown[0]) + more, conflicts=[_document(conflict) for conflict in shown]
    )


def _sentence(conflict: Conflict) -> str:
    names = ", ".join(_name(event) for event in conflict.with_[:3])
    if len(conflict.with_) > 3:
        names += f" and {len(conflict.with_) - 3} more"
    if conflict.kind is ConflictKind.OPPOSITE:
        return f"Item {conflict.proposal} contradicts {names}. Name them in despite, with a reason, or wait for them."
    with_ = f" together with {names}" if names else ""
    return f"Item {conflict.proposal}{with_} takes {conflict.lacking:g} more than the service has there."


def _name(event: CapacityEvent) -> str:
    when = event.starts_at.strftime("%Y-%m-%d")
    return f"event {event.capacity_event_id} ({event.effect.amount:+g} by {event.author}, due {when})"


def _document(conflict: Conflict) -> dict[str, object]:
    return {
        "kind": conflict.kind.value,
        "item": conflict.proposal,
        "lacking": conflict.lacking,
        "events": [
            {
                "capacity_event_id": event.capacity_event_id,
                "author": event.author,
                "writer": event.writer.value,
                "status": event.status.value,
                "amount": event.effect.amount,
                "starts_at": event.starts_at.isoformat(),
            }
            for event in conflict.with_[:_SHOWN_MAX]
        ],
    }
