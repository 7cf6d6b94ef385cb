"""Report reservations that need servers back from planned maintenance. It has 30 minutes to return them (RAS,
3.3.1).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from libs.domain.maintenance import MaintenanceNeed
from libs.domain.region_condition import ConditionStatus, RegionConditionType
from libs.store.capacity.maintenance_need import load_maintenance_need
from libs.store.platform.database import Transaction
from libs.store.regions.region_conditions import load_condition, set_condition

RETURN_WITHIN = timedelta(minutes=30)
"""Longest time from the moment that a reservation needs its servers in maintenance until they are back."""
_SHOWN_MAX = 10


def tell_need(tx: Transaction, region_id: int, *, now: datetime) -> None:
    """Set the region's condition MaintenanceReturns. Idempotent: the same state at the same time writes nothing.

    True: no reservation needs the servers. Unknown: a reservation has needed them for less than RETURN_WITHIN. False: a
    reservation has needed them for longer.
    """
    kind = RegionConditionType.MAINTENANCE_RETURNS
    need, before = load_maintenance_need(tx, region_id, now=now), load_condition(tx, region_id, kind)
    if not need.short_rru:
        message = "No reservation needs servers in maintenance."
        set_condition(tx, region_id, kind, ConditionStatus.TRUE, reason="NotNeeded", message=message, now=now)
        return
    told = None if before is None else before.numbers.get("needed_since")
    since = datetime.fromisoformat(str(told)) if told is not None else now
    is_late = now - since > RETURN_WITHIN
    set_condition(
        tx,
        region_id,
        kind,
        ConditionStatus.FALSE if is_late else ConditionStatus.UNKNOWN,
        reason="NotReturned" if is_late else "Returning",
        message=_message(need, since),
        numbers={"needed_since": since.isoformat(), "short_rru": dict(list(need.short_rru.items())[:_SHOWN_MAX])},
        now=now,
    )


def _message(need: MaintenanceNeed, since: datetime) -> str:
    shown = [f"{name} by {rru:.4g} RRU" for name, rru in list(need.short_rru.items())[:_SHOWN_MAX]]
    more = f" and {len(need.short_rru) - _SHOWN_MAX} more" if len(need.short_rru) > _SHOWN_MAX else ""
    events = ", ".join(map(str, need.underway[:_SHOWN_MAX])) or "that lists of servers report"
    due = (since + RETURN_WITHIN).strftime("%Y-%m-%d %H:%M UTC")
    return (
        f"Reservations hold less than they are promised while servers are in maintenance: {', '.join(shown)}{more}. "
        f"Return the servers of the planned events {events} until {due}, and end these: "
        "plimsoll drain SCOPE NAME --end."
    )
