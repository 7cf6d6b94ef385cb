"""Figures of an execution: how much of its plan was carried out, by whom, and in which time. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from libs.domain.arrays import Bools, Floats
from libs.domain.execution_plan import Phase
from libs.domain.execution_progress import PHASE_CODE, ExecutionGraph, Progress
from libs.domain.plan_execution import ActionState

_QUARTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionFigures:
    """The coverage of a plan (Flux, figures 8 and 10). Amounts of several hardware types add up as they are.

    upsize, downsize   planned capacity, in units of the hardware types
    upsized, downsized   the part of it that was executed, as people may have edited it
    shift, shifted     planned and moved traffic, as sums of shares of products
    automated          share of the finished actions in which no person had a hand; None: none has finished
    """

    upsize: float
    upsized: float
    downsize: float
    downsized: float
    shift: float
    shifted: float
    automated: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFigures:
    """The resizes of one service in an execution, over all regions.

    planned, executed   amounts of its upsizes and downsizes
    above, below        capacity after the execution beyond the planned one, and short of it (the sizing error of Flux,
                        6.2, with the capacity that was executed), in units of its hardware types
    automated           share of its finished actions in which no person had a hand; None: none has finished
    """

    planned: float
    executed: float
    above: float
    below: float
    automated: float | None


def figures_of(graph: ExecutionGraph, progress: Progress) -> ExecutionFigures:
    """Return the figures of an execution as far as it is."""
    done = progress.is_in(ActionState.DONE)
    planned, changed = np.abs(graph.after - graph.before), np.abs(progress.size - graph.before)
    up, down, shift = (graph.phase == PHASE_CODE[p] for p in (Phase.UPSIZE, Phase.DOWNSIZE, Phase.SHIFT))
    finished, alone = _finished(graph, progress)
    return ExecutionFigures(
        upsize=float(planned[up].sum()),
        upsized=float(changed[up & done].sum()),
        downsize=float(planned[down].sum()),
        downsized=float(changed[down & done].sum()),
        shift=float(planned[shift].sum()),
        shifted=float((planned * progress.reached)[shift].sum()),
        automated=float(alone.sum() / finished.sum()) if finished.any() else None,
    )


def service_figures_of(graph: ExecutionGraph, progress: Progress) -> dict[str, ServiceFigures]:
    """Return service -> figures of its upsizes and downsizes, as far as the execution is."""
    resizes = np.flatnonzero(_is_resize(graph))
    if not len(resizes):
        return {}
    names, service = np.unique([str(graph.actions[i].service) for i in resizes], return_inverse=True)
    done = progress.is_in(ActionState.DONE)
    reached = np.where(done, progress.size, graph.before)
    error = (reached - graph.after)[resizes]
    finished, alone = _finished(graph, progress)

    def summed(values: Floats | Bools) -> Floats:
        return np.bincount(service, weights=np.asarray(values, float), minlength=len(names)).astype(float)

    planned, executed = (
        summed(np.abs(graph.after - graph.before)[resizes]),
        summed(np.abs(reached - graph.before)[resizes]),
    )
    above, below = summed(np.maximum(error, 0.0)), summed(np.maximum(-error, 0.0))
    ended, by_itself = summed(finished[resizes]), summed(alone[resizes])
    return {
        str(name): ServiceFigures(
            planned=float(planned[s]),
            executed=float(executed[s]),
            above=float(above[s]),
            below=float(below[s]),
            automated=float(by_itself[s] / ended[s]) if ended[s] else None,
        )
        for s, name in enumerate(names)
    }


def resize_quartiles_h(graph: ExecutionGraph, progress: Progress, seconds: Floats) -> list[float] | None:
    """Return the hours that the finished resizes took: least, lower quartile, median, upper quartile, most. None if
    none has finished. Source: Flux, figure 9.

    seconds   (N,)  seconds from the beginning of an action to its end; nan: not known
    """
    taken = seconds[_is_resize(graph) & progress.is_in(ActionState.DONE) & np.isfinite(seconds)]
    return (np.quantile(taken, _QUARTILES) / 3600).tolist() if len(taken) else None


def figures_document(graph: ExecutionGraph, progress: Progress, seconds: Floats) -> dict[str, Any]:
    """Return all figures as the document that is recorded when the execution ends. See the functions above."""
    return {
        **asdict(figures_of(graph, progress)),
        "resize_h": resize_quartiles_h(graph, progress, seconds),
        "services": {name: asdict(one) for name, one in service_figures_of(graph, progress).items()},
    }


def _is_resize(graph: ExecutionGraph) -> Bools:
    return np.isin(graph.phase, (PHASE_CODE[Phase.UPSIZE], PHASE_CODE[Phase.DOWNSIZE]))


def _finished(graph: ExecutionGraph, progress: Progress) -> tuple[Bools, Bools]:
    """Return which actions are done, and which of them without a person."""
    finished = progress.is_in(ActionState.DONE) & (graph.phase != PHASE_CODE[Phase.SETTLED])
    return finished, finished & ~progress.person & np.array([not a.approval for a in graph.actions], bool)
