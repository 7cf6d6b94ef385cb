"""Gather the figures of the latest executions, by execution and by service."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from libs.domain.plan_execution import FINAL
from libs.executions.graphs import load_graph
from libs.flux.execution.figures import figures_document
from libs.store.executions.actions import load_progress
from libs.store.executions.figures import RecordedFigures, load_action_seconds, load_figures
from libs.store.platform.database import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleFigures:
    """The latest executions, oldest first.

    services   name -> its figures in each execution; None: the execution did not resize it, or recorded nothing
    """

    executions: tuple[RecordedFigures, ...]
    services: Mapping[str, Sequence[Mapping[str, Any] | None]]


def load_cycle_figures(tx: Transaction, *, last: int, service: str | None, services_max: int) -> CycleFigures:
    """Return the figures of one service, or of those with the largest planned changes. An execution that goes on has
    its figures so far.
    """
    found = tuple(_so_far(tx, one) for one in load_figures(tx, last=last))
    by_service = [_services(one) for one in found]
    planned: dict[str, float] = defaultdict(float)
    for figures in by_service:
        for name, one in figures.items():
            planned[name] += one["planned"]
    shown = sorted(planned, key=lambda name: (-planned[name], name))[:services_max] if service is None else [service]
    return CycleFigures(executions=found, services={name: [one.get(name) for one in by_service] for name in shown})


def _services(one: RecordedFigures) -> Mapping[str, Mapping[str, Any]]:
    return {} if one.figures is None else one.figures["services"]


def _so_far(tx: Transaction, one: RecordedFigures) -> RecordedFigures:
    if one.figures is not None or one.state in FINAL:
        return one
    graph, progress = load_graph(tx, one.plan_execution_id), load_progress(tx, one.plan_execution_id)
    seconds = load_action_seconds(tx, one.plan_execution_id, len(graph.actions))
    return replace(one, figures=figures_document(graph, progress, seconds))
