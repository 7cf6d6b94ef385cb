"""Judge gates by their readings. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from libs.domain.execution_plan import Action, Phase
from libs.domain.gate import Gate, GateMode, GateReading, GateTime, Verdict

_TIMES = {Phase.SHIFT: GateTime.FRACTION, Phase.DOWNSIZE: GateTime.DOWNSIZE}


@dataclass(frozen=True, slots=True, kw_only=True)
class GateStand:
    """The verdict of all gates of one action together.

    verdict   BAD if one is bad, else UNKNOWN if one is unknown, else GOOD; gates that only observe do not count
    mode      what a bad verdict does: REVERSE if one of the bad gates asks for it
    why       the names of these gates, for people
    unknown_s_max, then   the shortest patience with an unknown verdict, and what follows then
    """

    verdict: Verdict
    mode: GateMode = GateMode.HOLD
    why: str = ""
    unknown_s_max: float = float("inf")
    then: GateMode = GateMode.HOLD


GOOD = GateStand(verdict=Verdict.GOOD)


def gates_of(gates: Iterable[Gate], action: Action) -> list[Gate]:
    """Return the gates of an action."""
    time = _TIMES.get(action.phase)
    return [
        gate
        for gate in gates
        if gate.time is time
        and (gate.product is None or gate.product == action.product)
        and (gate.service is None or gate.service == action.service)
    ]


def query_of(gate: Gate, action: Action) -> str:
    """Return the gate's query with the names of the action filled in. Other braces stay: PromQL has many."""
    names = {"product": action.product, "service": action.service}
    names |= {"region": action.region, "to_region": action.to_region}
    text = gate.query
    for name, value in names.items():
        text = text.replace("{" + name + "}", value or "")
    return text


def is_good(gate: Gate, value: float) -> bool:
    """Return whether a value lies within the gate's bounds."""
    return (gate.most is None or value <= gate.most) and (gate.least is None or value >= gate.least)


def bound_of(gate: Gate) -> str:
    """Return the bounds for people, such as `<= 0.01`."""
    least = [f">= {gate.least:g}"] if gate.least is not None else []
    most = [f"<= {gate.most:g}"] if gate.most is not None else []
    return " and ".join(least + most)


def verdict_of(gate: Gate, readings: Sequence[GateReading], *, since: datetime, now: datetime) -> Verdict:
    """Return what the readings from `since` on say. Neither silence nor old readings are ever good or bad.

    readings   of this gate and one action, in any order
    since      when the present fraction was reached; earlier readings are about another state
    """
    valued = sorted(
        (r.at, is_good(gate, r.value))
        for r in readings
        if since <= r.at <= now and r.value is not None and not math.isnan(r.value)
    )
    oldest = now - timedelta(seconds=gate.age_s_max)
    if not valued or valued[-1][0] < oldest or len(valued) < gate.samples_min:
        return Verdict.UNKNOWN
    latest = [good for _, good in valued[-gate.bad_min :]]
    if len(latest) == gate.bad_min and not any(latest):
        return Verdict.BAD
    return Verdict.GOOD if latest[-1] else Verdict.UNKNOWN


def stand_of(gates: Sequence[Gate], readings: Sequence[GateReading], *, since: datetime, now: datetime) -> GateStand:
    """Return where the gates of one action stand, by its readings."""
    by_verdict: dict[Verdict, list[Gate]] = {}
    for gate in gates:
        if gate.mode is not GateMode.OBSERVE:
            own = [r for r in readings if r.gate == gate.name]
            by_verdict.setdefault(verdict_of(gate, own, since=since, now=now), []).append(gate)
    if bad := by_verdict.get(Verdict.BAD):
        mode = GateMode.REVERSE if any(g.mode is GateMode.REVERSE for g in bad) else GateMode.HOLD
        return GateStand(verdict=Verdict.BAD, mode=mode, why=", ".join(g.name for g in bad))
    if unknown := by_verdict.get(Verdict.UNKNOWN):
        first = min(unknown, key=lambda g: g.unknown_s_max)
        return GateStand(
            verdict=Verdict.UNKNOWN,
            why=", ".join(g.name for g in unknown),
            unknown_s_max=first.unknown_s_max,
            then=first.then,
        )
    return GOOD
