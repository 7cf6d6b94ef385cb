"""Check the choice between simplex and interior points for the relaxation of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from libs.assignment import Limit, MinimizeMovementSpec, Problem, SingleGroupFailureBufferSpec
from libs.assignment.model.lower import lower
from libs.assignment.solvers.portfolio import relaxation as module
from libs.assignment.solvers.portfolio.relaxation import relax
from libs.assignment.solvers.portfolio.unpaid import penalties

HALLS = 3


def shelves(racks: int, containers: int) -> Problem:
    """Return four objects in each of `racks` racks, which are classes, and containers that survive a hall's loss."""
    rng = np.random.default_rng(racks)
    rack = np.repeat(np.arange(racks), 4)
    initial = rng.integers(containers + 1, size=len(rack))
    problem = Problem(objects=len(rack), containers=containers + 1, initial=initial)
    problem.add_scope("party", np.append(np.arange(containers), -1), containers)
    problem.add_partition("hall", rack % HALLS, HALLS)
    problem.add_dimension("worth", rng.uniform(0.5, 2.5, racks)[rack])
    limit = Limit(items=np.full(containers, 0.5 * len(rack) / containers))
    problem.add_goal(
        SingleGroupFailureBufferSpec(scope="party", partition="hall", dimension="worth", limit=limit),
        weight=50.0,
        normalise=False,
    )
    problem.add_goal(MinimizeMovementSpec(), normalise=False)
    return problem


def relaxed(racks: int, containers: int, monkeypatch: pytest.MonkeyPatch, sparse: int) -> tuple[list[str], float]:
    """Return the methods that were used, and the bound, if simplex solves from `sparse` classes per container."""
    solve_lp, methods = module.solve_lp, []

    def heard(model: Any, method: Any, *given: Any, **named: Any) -> Any:
        methods.append(method)
        return solve_lp(model, method, *given, **named)

    monkeypatch.setattr(module, "solve_lp", heard)
    monkeypatch.setattr(module, "SPARSE", sparse)
    lowered = lower(shelves(racks, containers))
    model = lowered.at(1, (0.0,))
    found = relax(lowered, model, left_out=penalties(model))
    monkeypatch.undo()
    return methods, found.bound


@pytest.mark.parametrize(("racks", "containers", "method"), [(60, 3, "simplex"), (60, 20, "ipm")])
def test_simplex_relaxes_few_containers_of_many_classes(
    racks: int, containers: int, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    methods, bound = relaxed(racks, containers, monkeypatch, module.SPARSE)
    assert set(methods) == {method}
    _, other = relaxed(racks, containers, monkeypatch, 10**6 if method == "simplex" else 0)
    assert bound == pytest.approx(other, rel=1e-5, abs=1e-9)
