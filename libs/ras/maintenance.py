"""Decide whether planned maintenance may begin, by the rules of docs/designs/0023 (RAS, 2.4 and 3.3.1). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from libs.domain.arrays import Bools, Ints
from libs.domain.maintenance import (
    MaintenanceAnswer,
    MaintenanceGround,
    MaintenanceReason,
    MaintenanceVerdict,
    Underway,
)
from libs.domain.reservation import ROUNDING
from libs.domain.unavailability import UnavailabilityEvent
from libs.ras.domain_losses import LOST_SHARE

MSB_PARTS = 4
"""At most one MSB_PARTS-th of the servers of an MSB is in planned maintenance at a time (RAS, 3.3.1)."""
SPARE_PARTS = 2
"""At most one SPARE_PARTS-th of the spare servers of a hardware type is in planned maintenance at a time. Loans may
take another quarter (0027), so a quarter can replace lost servers at once.
"""
_NAMES_MAX = 10

_NOW, _QUEUED, _REFUSED = MaintenanceVerdict.NOW, MaintenanceVerdict.QUEUED, MaintenanceVerdict.REFUSED


def maintenance_limit(servers: Ints) -> Ints:
    """Return how many servers of each MSB may be in planned maintenance at a time, (M,). It is at least 1.

    servers  (M,) number of servers of each MSB
    """
    return np.maximum(1, servers // MSB_PARTS)


def lost_msbs(ground: MaintenanceGround) -> Bools:
    """Return for each MSB whether it counts as lost, (M,).

    It does if more than LOST_SHARE of its servers are down, for any scope of the events (ADR 0011).
    """
    return np.asarray(ground.down > LOST_SHARE * ground.servers)


def may_begin(ground: MaintenanceGround, *, behind: int | None = None) -> MaintenanceAnswer:
    """Return the answer to a request for maintenance. The first rule of docs/designs/0023 that applies decides.

    ground   the request, and the state of the region
    behind   id of the last event that waits in front of the request; None: no event waits in front of it

    A queued answer has no position yet. Its `begins_at` is known only if it waits for other maintenance to end.
    """
    new = np.flatnonzero(ground.asked)
    if not len(new):
        return MaintenanceAnswer(
            verdict=_NOW,
            reason=MaintenanceReason.ALLOWED,
            message="it takes out no server that is not in maintenance already",
        )
    own = [event for event in ground.underway if event.unavailability_event_id == ground.of_event]
    touched = np.union1d(new, [m for event in own for m in event.msbs]).astype(np.int64)
    if len(touched) > 1 and not ground.is_domain:
        names = _list(str(name) for name in ground.msb[touched])
        what = f"it takes servers of {len(touched)} MSBs ({names}); maintenance is of one MSB at a time"
        return MaintenanceAnswer(verdict=_REFUSED, reason=MaintenanceReason.SEVERAL_MSBS, message=what)
    most = maintenance_limit(ground.servers)
    then = ground.in_maintenance + ground.asked
    m = int(new[np.argmax((ground.asked - most)[new])])  # of a domain in several MSBs, the one with most of it
    asked = int(ground.asked[m])
    of_all = f"of the {ground.servers[m]} servers of {ground.msb[m]}"
    if asked > most[m]:
        what = f"it takes {asked} {of_all}; at most {most[m]} (a quarter) may be in maintenance at a time"
        return MaintenanceAnswer(verdict=_REFUSED, reason=MaintenanceReason.ABOVE_QUARTER, message=what)
    if behind is not None:
        return waits_behind(behind)
    alone = {m} if len(touched) == 1 else set()  # the only MSB of the request: what is out there need not be waited for
    lost = lost_msbs(ground)
    lost[list(alone)] = False
    if lost.any():
        what = f"it waits until {_list(str(name) for name in ground.msb[lost])} is up again: no maintenance begins "
        return MaintenanceAnswer(
            verdict=_QUEUED,
            reason=MaintenanceReason.MSB_DOWN,
            message=what + "while {} MSB is down".format("another" if alone else "an"),
        )
    elsewhere = [event for event in ground.underway if event not in own and event.msbs - alone]
    if elsewhere:
        what = f"it waits until maintenance of {_list(_msbs_of(ground, elsewhere, but=alone))} ends: "
        what += "one MSB at a time" if alone else "a domain in several MSBs is drained alone"
        return _waits(MaintenanceReason.OTHER_MSB, what, elsewhere)
    m = int(new[np.argmax((then - most)[new])])  # for newcomers there is maintenance in each MSB of their event
    if then[m] > most[m]:
        return _quarter_in_use(ground, m, int(most[m]))
    missing = ground.granted_rru - (ground.held_rru - ground.gone_rru)
    rows = np.flatnonzero(missing > ROUNDING * np.maximum(ground.granted_rru, ground.held_rru))
    if len(rows):
        rows = rows[np.argsort(-missing[rows], kind="stable")]
        short = {str(ground.reservation[r]): float(missing[r]) for r in rows}
        told = _list(f"{name} by {rru:.4g} RRU" for name, rru in short.items())
        what = f"reservations would hold less than they are promised: {told}"
        return MaintenanceAnswer(
            verdict=_REFUSED, reason=MaintenanceReason.WOULD_BE_SHORT, message=what, short_rru=short
        )
    few = _too_few_spares(ground)
    if few is not None:
        return few
    if len(new) > 1:
        of_all = f"servers of {len(new)} MSBs, at most a quarter of each"
        asked = int(ground.asked.sum())
    return MaintenanceAnswer(
        verdict=_NOW, reason=MaintenanceReason.ALLOWED, message=f"it takes {asked} {of_all}, and breaks no promise"
    )


def waits_behind(event_id: int) -> MaintenanceAnswer:
    """Return the answer to a request that is queued because an earlier request, the event `event_id`, still waits."""
    what = f"it waits its turn behind event {event_id}, which was asked for earlier"
    return MaintenanceAnswer(verdict=_QUEUED, reason=MaintenanceReason.BEHIND, message=what, waits_for=(event_id,))


def in_queue(answer: MaintenanceAnswer, before: Sequence[UnavailabilityEvent]) -> MaintenanceAnswer:
    """Return `answer` with its position in the queue. Return an answer that is not queued unchanged.

    If the request waits behind another event, estimate also when it begins: when the last event before it will end.

    before   the events that wait in front of the request, with their answers
    """
    if answer.verdict is not _QUEUED:
        return answer
    begins_at = answer.begins_at
    if answer.reason is MaintenanceReason.BEHIND and before:
        last = before[-1]
        begins = None if last.answer is None else last.answer.begins_at
        begins_at = None if begins is None or last.ends_at is None else begins + (last.ends_at - last.starts_at)
    return replace(answer, position=len(before) + 1, begins_at=begins_at)


def _waits(reason: MaintenanceReason, message: str, events: list[Underway]) -> MaintenanceAnswer:
    """Return a queued answer that waits until all of `events` have ended, to be on the safe side."""
    ids = tuple(event.unavailability_event_id for event in events)
    ends = [event.ends_at for event in events if event.ends_at is not None]
    begins_at: datetime | None = max(ends) if len(ends) == len(events) and ends else None
    return MaintenanceAnswer(verdict=_QUEUED, reason=reason, message=message, waits_for=ids, begins_at=begins_at)


def _quarter_in_use(ground: MaintenanceGround, m: int, most: int) -> MaintenanceAnswer:
    """Return the answer to a request that takes more servers of the MSB `m` than others leave of its quarter."""
    what = (
        f"it waits, because {ground.in_maintenance[m]} of the {ground.servers[m]} servers of {ground.msb[m]} are in "
        f"maintenance already, and at most {most} (a quarter) may be; it takes {ground.asked[m]}"
    )
    here = [event for event in ground.underway if m in event.msbs]
    return _waits(MaintenanceReason.QUARTER_IN_USE, what, here)


def _too_few_spares(ground: MaintenanceGround) -> MaintenanceAnswer | None:
    """Return the answer to a request that leaves too few spare servers of a type; None: it leaves enough.

    One server may always go, as of a small MSB: else the only spare server of a type could not be maintained.
    """
    most = {s.hardware_type: max(1, s.servers // SPARE_PARTS) for s in ground.spares}
    alone = [s for s in ground.spares if s.asked > most[s.hardware_type]]
    beside = [s for s in ground.spares if s.in_maintenance + s.asked > most[s.hardware_type]]
    told = _list(
        f"{s.servers - s.in_maintenance - s.asked} of {s.servers} of {s.hardware_type}, where "
        f"{s.servers - most[s.hardware_type]} must stay"
        for s in alone or beside
    )
    if alone:
        what = f"too few spare servers would be left to replace lost ones: {told}"
        return MaintenanceAnswer(verdict=_REFUSED, reason=MaintenanceReason.TOO_FEW_SPARES, message=what)
    if beside:
        what = f"it waits until other maintenance ends, because too few spare servers would be left: {told}"
        return _waits(MaintenanceReason.TOO_FEW_SPARES, what, list(ground.underway))
    return None


def _msbs_of(ground: MaintenanceGround, events: list[Underway], *, but: set[int]) -> list[str]:
    return [str(ground.msb[m]) for m in sorted({m for event in events for m in event.msbs} - but)]


def _list(names: Iterable[str]) -> str:
    """Return a text with the first _NAMES_MAX names, and the number of all further names."""
    every = list(names)
    more = f" and {len(every) - _NAMES_MAX} more" if len(every) > _NAMES_MAX else ""
    return ", ".join(every[:_NAMES_MAX]) + more
