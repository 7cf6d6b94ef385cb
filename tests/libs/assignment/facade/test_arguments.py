"""Check that an argument of the wrong kind is refused by its name, and not by a traceback from within."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from libs.assignment import (
    BadValues,
    BalanceSpec,
    CapacitySpec,
    Limits,
    MinimizeMovementSpec,
    Problem,
    Replay,
    load_replay,
    save_replay,
    solve,
)

HUGE = 10**400


def world() -> Problem:
    problem = Problem(objects=["a", "b", "c"], containers=["x", "y"], initial=[0, 1, 0])
    problem.add_scope("rack", ["r", "r"])
    problem.add_dimension("cpu", [1, 2, 3], containers=[4, 4])
    return problem


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (lambda p: p.add_goal(MinimizeMovementSpec(), priority="1"), "MinimizeMovementSpec: priority = '1'; expected"),
        (lambda p: p.add_goal(MinimizeMovementSpec(), priority=None), "priority = None; expected a whole number"),
        (lambda p: p.add_goal(MinimizeMovementSpec(), weight=HUGE), "MinimizeMovementSpec: weight = 1000"),
        (lambda p: p.add_goal(MinimizeMovementSpec(), normalise="no"), "normalise = 'no'; expected True or False"),
        (lambda p: p.add_constraint(CapacitySpec(dimension="cpu"), hard="no"), "hard = 'no'; expected True or False"),
        (lambda p: CapacitySpec(dimension="cpu", limit=HUGE), "CapacitySpec: limit = 1000"),
        (lambda p: p.add_dimension("m", [1, 2, HUGE]), "dimension 'm', objects: expected numbers"),
        (lambda p: p.add_dimension("m", np.array([1j, 2, 3])), "dimension 'm', objects: expected numbers"),
        (lambda p: p.add_dimension("m", np.zeros(3, "M8[s]")), "dimension 'm', objects: expected numbers"),
        (lambda p: p.add_dimension("m", 1, by_item=("rack", [0, 0, 0])), r"dimension 'm': by_item = .*; expected \(sc"),
        (lambda p: p.add_dimension("m", 1, by_item=("rack", [0] * 3, [["q"]])), "dimension 'm': expected rows of 1 nu"),
        (
            lambda p: p.add_dimension("m", 1, by_item=("rack", [0] * 3, [[1], [1, 2]])),
            "'m': expected rows of 1 numbers",
        ),
        (lambda p: p.add_dimension(None, 1), "dimension: None; expected a name"),
        (lambda p: p.add_scope("zone", None), "scope 'zone': expected 2 names or indices"),
        (lambda p: p.add_scope(["zone"], [0, 0]), r"scope: \['zone'\]; expected a name"),
        (
            lambda p: Problem(objects={"a", "b"}, containers=1, initial=[0, 0]),
            "object: .*; expected .* names, in order",
        ),
    ],
)
def test_a_wrong_statement_is_refused(state: Callable[[Problem], Any], message: str) -> None:
    with pytest.raises(BadValues, match=message):
        state(world())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seed": -1}, "solve: seed = -1; expected a whole number, 0 or more"),
        ({"seed": None}, "solve: seed = None"),
        ({"seed": 1.5}, "solve: seed = 1.5"),
        ({"progress": 5}, "solve: progress = 5; expected a function"),
        ({"cancelled": True}, "solve: cancelled = True; expected a function"),
        ({"solver": "local", "proposer": 5}, "solve: proposer = 5; expected an object with __call__"),
        ({"solver": "portfolio", "pool": 5}, "solve: pool = 5; expected an object with submit"),
        ({"solver": "partitioned", "executor": 5}, "solve: executor = 5; expected an object with submit"),
        ({"solver": "partitioned", "part_solver": 5}, "solve: part_solver = 5; expected the name of a solver"),
        ({"solver": "partitioned", "limits": Limits(split=5)}, "container 5 is outside 0..1"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_call_is_refused(given: dict[str, Any], message: str) -> None:
    problem = world()
    problem.add_goal(BalanceSpec(dimension="cpu"))
    with pytest.raises(BadValues, match=message):
        solve(problem, **given)


@pytest.mark.parametrize("solver", ["mip", "portfolio"])
def test_any_seed_and_any_number_of_nodes_will_do(solver: str) -> None:
    problem = world()
    problem.add_goal(BalanceSpec(dimension="cpu", formula="SQUARES"))  # type: ignore[arg-type]
    found = solve(problem, Limits(nodes_max=2**40), solver=solver, seed=2**70)
    assert found.gap == 0.0


def test_a_replay_is_saved_and_loaded_by_the_text_of_a_path(tmp_path: Path) -> None:
    path = str(tmp_path / "solve.npz")
    save_replay(path, Replay(problem=world(), solver="mip"))
    assert load_replay(path).problem.objects.names == ("a", "b", "c")
