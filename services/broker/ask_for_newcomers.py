"""Ask the rules of maintenance about servers that entered its scope after it was allowed. See docs/designs/0067."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from libs.domain.maintenance import MaintenanceAnswer, MaintenanceVerdict, Newcomers
from libs.domain.unavailability import UnavailabilityEvent
from libs.ras.maintenance import may_begin, waits_behind
from libs.store.capacity.maintenance import count_newcomers, load_ground
from libs.store.fleet.unavailability_events import find_scope, list_joined, refresh_unavailability, settle_newcomers
from libs.store.platform.database import Transaction

ACTOR = "broker.maintenance"
"""The actor of a change of state in the audit trail."""
LEFT_OUT_MAX = 4
"""Events that a run asks for without taking their newcomers. Each costs a reading of the fleet: 0.3 to 0.7 s for
100,000 servers.
"""


def ask_for_newcomers(tx: Transaction, region_id: int, *, now: datetime) -> int:
    """Take the newcomers of maintenance under way that the rules allow, and note why the others wait.

    The first event with newcomers that must wait makes those of later events wait behind it. One with refused newcomers
    does not, but for the last that a run has time to ask for.

    The caller must refresh the unavailability first, which takes the lock of the region's events. Return the number of
    servers that became unavailable. Idempotent: a repetition writes nothing.
    """
    found = count_newcomers(tx, region_id, now=now)
    changed, behind, left_out = 0, None, 0
    for event in list_joined(tx, region_id, found):
        event_id = event.unavailability_event_id
        if event_id not in found:  # they have left
            settle_newcomers(tx, event, None, covers=False, actor=ACTOR, now=now)
            continue
        # those that are all in other maintenance cannot be in the way
        answer = _answer(tx, region_id, event, behind if found[event_id] else None, now)
        newcomers = Newcomers(servers=found[event_id], answer=answer)
        covers = answer.verdict is MaintenanceVerdict.NOW
        settle_newcomers(tx, event, newcomers, covers=covers, actor=ACTOR, now=now)
        if covers:
            changed += refresh_unavailability(tx, region_id, now=now)
            found = count_newcomers(tx, region_id, now=now)  # later events may have had the same ones
            continue
        left_out += 1
        is_refused = answer.verdict is MaintenanceVerdict.REFUSED
        if behind is None and (not is_refused or left_out == LEFT_OUT_MAX):
            behind = event_id
    return changed


def _answer(
    tx: Transaction, region_id: int, event: UnavailabilityEvent, behind: int | None, now: datetime
) -> MaintenanceAnswer:
    """Return the answer to the newcomers of an event. They have no place in the queue, and no time: the event may end
    first.
    """
    if behind is not None:
        return waits_behind(behind)  # without a reading of the fleet for each
    scope_id = find_scope(tx, region_id, event.scope, event.scope_name)
    event_id = event.unavailability_event_id
    answer = may_begin(load_ground(tx, region_id, event.scope, scope_id, now=now, of_event=event_id))
    return replace(answer, begins_at=None)
