"""Report on the committed part of a plan: its score, its shortfalls, and the changes that were dropped. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from libs.domain.fleet import FREE, FleetSnapshot, TargetPlan
from libs.domain.plan_changes import NONE, PlanChanges
from libs.domain.reservation import Coverage
from libs.plan_check.churn import counted_preemptions
from libs.ras.buffer_bound import embedded_buffers
from libs.ras.committable_changes import Settled, Why
from libs.ras.evaluate import Score, coverage_of, evaluate, short_rru
from libs.ras.power_report import report_power
from libs.ras.solve_result import SolveReport

_SHOWN_MAX = 5
_SAME = 1e-6
"""Share of the capacity of all reservations below which two sums of shortfalls count as equal."""


def kept_part(snapshot: FleetSnapshot, plan: TargetPlan, changes: PlanChanges, settled: Settled) -> TargetPlan:
    """Return the plan `plan` reduced to the changes that `settled` keeps. All other servers keep their targets."""
    target = snapshot.servers.target.copy()
    kept = changes.row[settled.kept]
    target[kept] = plan.target[kept]
    return replace(plan, target=target)


def committed_report(
    snapshot: FleetSnapshot,
    committed: TargetPlan,
    report: SolveReport,
    changes: PlanChanges,
    settled: Settled,
    coverage: Mapping[int, Coverage],
) -> dict[str, object]:
    """Return the report of a solve for JSON, with the numbers of the committed plan.

    committed   the plan reduced to the kept changes, from `kept_part`
    report      the report of the solve
    coverage    id of a reservation -> the capacity of its targets after the commit

    The shortfalls come from `coverage`. The moves, the gap, the present and all other terms of the score come from the
    servers as the solve read them. The report has `as_solved` if the shortfalls differ, and says so in a sentence.
    """
    short = np.array([coverage[int(i)].shortfall_rru if int(i) in coverage else 0.0 for i in snapshot.reservations.id])
    as_solved = evaluate(snapshot, committed.target)
    # a penalty adds what is missing after each kind of loss, and `coverage` only knows the worst
    more = short - short_rru(snapshot, coverage_of(snapshot, committed.target))
    score = replace(
        as_solved,
        short=as_solved.short + snapshot.policy.shortfall_cost * float((snapshot.penalty_weight * more).sum()),
        shortfall_rru=float(short.sum()),
        reservations_short=int(np.count_nonzero(short)),
    )
    dropped = int((settled.because != NONE).sum())
    churn = report.churn
    if churn is not None:
        churn = replace(churn, planned=counted_preemptions(snapshot, committed.target))
    power = report_power(snapshot, np.maximum(snapshot.servers.target, FREE), committed.target)
    report = replace(report, score=score, as_solved=as_solved, shortfall_rru=short, churn=churn, power=power)
    differs = abs(score.shortfall_rru - as_solved.shortfall_rru) > _SAME * float(
        snapshot.reservations.capacity_rru.sum()
    )
    return report.as_dict() | {
        **({"as_solved": _as_solved(snapshot, as_solved)} if differs else {}),
        "changes": int(settled.kept.sum()),
        "left_alone": int((~settled.kept).sum()) - dropped,
        "dropped": dropped_of(changes, settled),
        "buffers": embedded_buffers(snapshot, committed.target),
    }


def _as_solved(snapshot: FleetSnapshot, score: Score) -> dict[str, object]:
    awaited = int(snapshot.servers.awaited.sum())
    message = "The costs after count what is short at the commit; the gap and the costs before do not."
    if awaited:
        servers = f"{awaited:,} server{'s' if awaited > 1 else ''}"
        message = f"The gap and the costs before count {servers} of a lost domain as present; the costs after do not."
    return {
        "message": message,
        "total": score.total,
        "shortfall_rru": score.shortfall_rru,
        "awaited_servers": awaited,
    }


def dropped_of(changes: PlanChanges, settled: Settled) -> list[dict[str, object]]:
    """Return an entry for each reservation and reason for which changes were dropped, in the order of reservations.

    An entry has the name of the reservation, the number of dropped changes, and the reason in words.
    """
    found: list[dict[str, object]] = []
    name = changes.touched.name
    for r in range(len(changes.touched)):
        for why in (Why.SHORT, Why.RETIRING, Why.AFFINITY, Why.QUOTA, Why.MSB_SHARE, Why.DOMAIN_LIMIT, Why.POWER):
            count = int(((settled.because == r) & (settled.why == why)).sum())
            if count:
                found.append(
                    {"reservation": str(name[r]), "changes": count, "reason": _reason(changes, settled, r, why)}
                )
        lost = (settled.because != NONE) & (settled.because != r) & (changes.to == r)
        if lost.any():
            keepers = Counter(str(name[k]) for k in settled.because[lost])
            shown = ", ".join(f"{n} with {keeper}" for keeper, n in keepers.most_common(_SHOWN_MAX))
            more = f" and with {len(keepers) - _SHOWN_MAX} others" if len(keepers) > _SHOWN_MAX else ""
            reason = f"Servers that it was to get stay where they are needed: {shown}{more}."
            found.append({"reservation": str(name[r]), "changes": int(lost.sum()), "reason": reason})
    return found


def _reason(changes: PlanChanges, settled: Settled, r: int, why: Why) -> str:
    q, arriving = changes.touched, changes.to == r
    if why is Why.RETIRING:
        return "It keeps servers that will be retired: the servers that are there do not cover it without them yet."
    if why is Why.MSB_SHARE:
        return "With them it would have more in one MSB than its msb_share_max allows."
    if why is Why.DOMAIN_LIMIT:
        return "With them it would break a hard limit on domains: its servers that stay, and these, are too many there."
    if why is Why.QUOTA:
        return "The quota of its owner has no room for these servers. Set a larger quota, or let the owner return some."
    if why is Why.POWER:
        return "The limits on power have no room for these servers any more. The next solve finds others."
    if why is Why.AFFINITY:
        return "With the changes that are left it would be further from its datacenters' shares than it is."
    overtaken = int((arriving & ~settled.kept & (settled.because == NONE)).sum())
    elsewhere = int((arriving & (settled.because != NONE)).sum())
    causes = [
        f"{overtaken} of the servers that it was to get changed during the solve" if overtaken else "",
        f"{elsewhere} stay where they are needed" if elsewhere else "",
    ]
    cause = " and ".join(filter(None, causes)) or "it needs more, or has less, than when the solve began"
    return (
        f"It keeps servers that the plan gave away, because {cause}: it would have ended below both the "
        f"{q.capacity_rru[r]:.6g} RRU that it asks for and what it had."
    )
