"""Find small changes of a request that would get a better answer. Pure: each change is judged like the request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import floor, isfinite, log10
from typing import Any

from libs.domain.capacity_request import CapacityRequestPhase
from libs.domain.reservation import ROUNDING, CapacityUnit, ReservationSpec
from services.portal.judge import Case, Judgement, judge

WAYS_MAX = 3
"""Conditions that are dropped in turn, at most. Each may take a small solve."""
_SIZES_MAX = 4
"""Smaller capacities that are tried in turn, at most. Each may take a small solve too."""
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
    if _is_met(case, judgement):
        return ()
    is_short = _is_short(case, judgement)
    if case.stack.host is not None:  # the figures of the judgement are of its host
        return ()
    found = []
    for change, other in (*_smaller(case, judgement), *_fewer_conditions(case, judgement)):
        if (_RANK[other.phase], _is_short(_changed(case, change), other)) < (_RANK[judgement.phase], is_short):
            found.append(WayOut(change=change, judgement=other))
    return tuple(sorted(found, key=lambda one: (_RANK[one.judgement.phase], one.judgement.cost_units)))


def _is_met(case: Case, judgement: Judgement) -> bool:
    return _RANK.get(judgement.phase, 0) < _RANK[CapacityRequestPhase.DEGRADED] and not _is_short(case, judgement)


def _is_short(case: Case, judgement: Judgement) -> bool:
    """Return whether the answer lacks more than sums of floats leave behind."""
    return _short_rru(judgement) > ROUNDING * max(1.0, case.question.spec.capacity_rru)


def _short_rru(judgement: Judgement) -> float:
    return judgement.numbers.get("short_rru", 0.0)


def _changed(case: Case, change: Mapping[str, Any]) -> Case:
    return replace(case, question=replace(case.question, spec=replace(case.question.spec, **change)))


def _smaller(case: Case, judgement: Judgement) -> list[tuple[dict[str, Any], Judgement]]:
    """Return a smaller capacity that is met, with its answer; none if none is known.

    The figures of a refusal tell what some state of the region could give. So the answer to a size may name a smaller
    one in turn: one that fits the quota may be too large for the region, and that one for its free servers.
    """
    for _ in range(_SIZES_MAX):
        capacity = _capacity(case.question.spec, judgement)
        if capacity <= 0:
            return []
        change = {"capacity_rru": capacity}
        case = _changed(case, change)
        judgement = judge(case)
        if _is_met(case, judgement):
            return [(change, judgement)]
    return []


def _fewer_conditions(case: Case, judgement: Judgement) -> list[tuple[dict[str, Any], Judgement]]:
    """Return changes that drop one of the owner's conditions each, with their answers: at most WAYS_MAX."""
    spec = case.question.spec
    if judgement.reason == "QuotaExceeded" or case.stack.guests:  # guests may need each of them
        return []
    dropped = {"survives_msb_loss": False, "survives_loss_of": (), "datacenters": (), "msb_share_max": None}
    dropped |= {"domain_limits": (), "resources": {}}
    changes = [{name: to} for name, to in dropped.items() if getattr(spec, name) not in (to, None)][:WAYS_MAX]
    return [(change, judge(_changed(case, change))) for change in changes]


def _capacity(spec: ReservationSpec, judgement: Judgement) -> float:
    """Return a capacity that would probably be met, rounded down; 0 if none is known."""
    numbers = judgement.numbers
    if judgement.reason == "QuotaExceeded":
        left = numbers["quota_cost_units"] - numbers["used_cost_units"] - numbers["pending_cost_units"]
        most = spec.capacity_rru * left / numbers["asked_cost_units"] if numbers["asked_cost_units"] > 0 else 0.0
    else:
        most = numbers.get("coverable_rru") or numbers.get("most_rru", 0.0)
        short = _short_rru(judgement)
        most = min(most, spec.capacity_rru - short) if short > 0 else most
    if not isfinite(most) or not 0 < most < spec.capacity_rru:
        return 0.0
    if spec.unit is CapacityUnit.COUNT:
        return float(floor(most + 1e-6))
    unit = 10.0 ** (floor(log10(most)) - _DIGITS + 1)
    return round(floor(most / unit + 1e-6) * unit, 10)
