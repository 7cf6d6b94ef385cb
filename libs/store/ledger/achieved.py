"""The part of an event's effect that had happened by a moment, as an SQL expression. The history of events has it."""

from __future__ import annotations


def achieved_by(event: str, moment: str) -> str:
    """Return the expression for an event's effect until a moment.

    event    alias of `capacity_events` in the statement
    moment   parameter of the statement, as its driver writes it; it must not be null

    Most events have not changed since, and then their row says it. The history is read for the others only.
    """
    return f"""CASE WHEN {event}.changed_at <= {moment} THEN {event}.achieved ELSE coalesce((
        SELECT past.achieved FROM capacity_event_changes AS past
        WHERE past.capacity_event_id = {event}.capacity_event_id AND past.changed_at <= {moment}
        ORDER BY past.generation DESC LIMIT 1), 0) END"""
