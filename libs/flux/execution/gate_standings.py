"""Tell where the gates of an execution stand: the verdict of each that was read, and its latest reading. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from libs.domain.execution_progress import ExecutionGraph, Progress
from libs.domain.gate import Gate, GateReading, Verdict
from libs.domain.plan_execution import SETTLED, Terms
from libs.flux.execution.gates import gates_of, verdict_of


@dataclass(frozen=True, slots=True, kw_only=True)
class GateStanding:
    """A gate of one action.

    verdict      by the readings since the action reached its present fraction
    overridden   True: a person overrode the verdict at this fraction
    latest       the latest reading
    """

    position: int
    gate: Gate
    verdict: Verdict
    overridden: bool
    latest: GateReading


def gate_standings(
    graph: ExecutionGraph,
    progress: Progress,
    terms: Terms,
    readings: Mapping[int, Sequence[GateReading]],
    now: datetime,
) -> tuple[GateStanding, ...]:
    """Return the gates of open actions that were read: first bad ones, then unknown ones, then good ones.

    readings   position -> recent readings of its gates, oldest first
    """
    settled = progress.is_in(*SETTLED)
    found = []
    for position, of_action in readings.items():
        if settled[position]:
            continue
        row = progress.row(position)
        since = datetime.fromtimestamp(row.again_s, UTC)
        for gate in gates_of(terms.gates, graph.actions[position]):
            own = [one for one in of_action if one.gate == gate.name]
            if own:
                verdict = verdict_of(gate, own, since=since, now=now)
                overridden = row.overridden == row.reached
                found.append(
                    GateStanding(position=position, gate=gate, verdict=verdict, overridden=overridden, latest=own[-1])
                )
    order = (Verdict.BAD, Verdict.UNKNOWN, Verdict.GOOD)
    return tuple(sorted(found, key=lambda one: (order.index(one.verdict), one.position, one.gate.name)))
