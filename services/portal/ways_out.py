"""Find small changes of a request that would get a better answer. Pure: each change is judged like the request itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import floor, isfinite, log10
from typing import Any

from libs.domain.capacity_request import CapacityRequestPhase
from libs.domain.reservation import ReservationSpec
from services.portal.judge import Case, Judgement, judge

WAYS_MAX = 4
"""Changes that are judged, at most. Each may take a small solve."""
_DIGITS = 4
"""Significant digits of an offered capacity."""
_RANK = {
    CapacityRequestPhase.GRANTED: 0,
    CapacityRequestPhase.SCHEDULED: 0,
    CapacityRequestPhase.AWAITING_APPROVAL: 1,
    CapacityRequestPhase.DEGRADED: 2,
    CapacityRequestPhase.REJECTED: 3,
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WayOut:
    """A change of a request, and the decision that the changed request would get.

    change   field of the spec -> its other value
    """

    change: Mapping[str, Any]
    judgement: Judgement


def ways_out(case: Case, judgement: Judgement) -> tuple[WayOut, ...]:
    """Return changes that would get a better answer than `judgement`: the best answers first, and of equal ones those
    that cost least. Return () if the request itself is met.
    """
    is_short = judgement.numbers.get("short_rru", 0.0) > 0
    if _RANK.get(judgement.phase, 0) < _RANK[CapacityRequestPhase.DEGRADED] and not is_short:
        return ()
    found = []
    for place, change in enumerate(_changes(case, judgement)):
        if place == WAYS_MAX:
            break
        question = replace(case.question, spec=replace(case.question.spec, **change))
        other = judge(replace(case, question=question))
        still_short = other.numbers.get("short_rru", 0.0) > 0
        if (_RANK[other.phase], still_short) < (_RANK[judgement.phase], is_short):
            found.append(WayOut(change=change, judgement=other))
    return tuple(sorted(found, key=lambda one: (_RANK[one.judgement.phase], one.judgement.cost_units)))


def _changes(case: Case, judgement: Judgement) -> Iterator[dict[str, Any]]:
    """Yield a smaller capacity first, then one of the owner's conditions less."""
    spec = case.question.spec
    capacity = _capacity(spec, judgement)
    if capacity > 0:
        yield {"capacity_rru": capacity}
    if judgement.reason == "QuotaExceeded":
        return
    if spec.survives_msb_loss:
        yield {"survives_msb_loss": False}
    if spec.survives_loss_of:
        yield {"survives_loss_of": ()}
    if spec.datacenters:
        yield {"datacenters": ()}
    if spec.msb_share_max is not None:
        yield {"msb_share_max": None}


def _capacity(spec: ReservationSpec, judgement: Judgement) -> float:
    """Return a capacity that would probably be met, rounded down; 0 if none is known."""
    numbers = judgement.numbers
    if judgement.reason == "QuotaExceeded":
        left = numbers["quota_cost_units"] - numbers["used_cost_units"] - numbers["pending_cost_units"]
        most = spec.capacity_rru * left / numbers["asked_cost_units"] if numbers["asked_cost_units"] > 0 else 0.0
    else:
        most = numbers.get("coverable_rru") or numbers.get("most_rru", 0.0)
    if not isfinite(most) or not 0 < most < spec.capacity_rru:
        return 0.0
    unit = 10.0 ** (floor(log10(most)) - _DIGITS + 1)
    return round(floor(most / unit + 1e-6) * unit, 10)
