"""A result answers in names."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from libs.assignment import BalanceSpec, CapacitySpec, Limits, MinimizeMovementSpec, Problem, Result, UnknownName, solve


@pytest.fixture
def problem() -> Problem:
    """Return four objects in a place for three; one must go."""
    found = Problem(objects=["web", "db", "cache", "job"], containers=["east", "west", "north"], initial=["east"] * 4)
    found.add_dimension("cpu", [1, 2, 1, 2], containers=[4, 4, 4])
    found.add_scope("zone", ["z1", "z2", "z2"])
    found.add_constraint(CapacitySpec(name="fits", dimension="cpu"))
    found.add_constraint(CapacitySpec(name="few", dimension="count", limit=1), hard=False, weight=0.5)
    found.add_goal(MinimizeMovementSpec(dimension="cpu"), priority=2, weight=3, normalise=False)
    return found


@pytest.fixture
def result(problem: Problem) -> Result:
    return solve(problem, Limits(nodes_max=1_000), solver="mip")


def test_moves_and_containers_are_named(problem: Problem, result: Result) -> None:
    moves = result.moves().to_pylist()
    assert [one["from"] for one in moves] == ["east"] * result.moved
    for one in moves:
        assert result.container_of(one["object"]) == one["to"] != "east"
    rows = {one["container"]: one for one in result.by_container().to_pylist()}
    assert rows["east"]["before"] == 4
    assert rows["east"]["left"] == result.moved
    assert rows["east"]["after"] == 4 - result.moved
    assert sum(one["came"] for one in rows.values()) == result.moved
    with pytest.raises(UnknownName, match="container_of: no object named 'wbe'; did you mean 'web'"):
        result.container_of("wbe")


def test_each_spec_has_its_own_value_before_and_after(result: Result) -> None:
    fits, few, moving = result.by_spec().to_pylist()
    assert fits | {"after": 0} == {
        "name": "CapacitySpec 'fits'",
        "kind": "hard constraint",
        "priority": None,
        "weight": 1.0,
        "before": 2.0,
        "after": 0.0,
        "broken": False,
    }
    assert (few["kind"], few["weight"], few["before"], few["broken"]) == ("soft constraint", 0.5, 3.0, few["after"] > 0)
    assert (moving["kind"], moving["priority"], moving["weight"], moving["broken"]) == ("goal", 2, 3.0, None)
    assert moving["before"] == 0
    assert 3 * moving["after"] == pytest.approx(result.objective[1][0])
    assert fits["after"] + 0.5 * few["after"] == pytest.approx(result.broken[1])


def test_utilisation_is_by_item_of_any_scope(result: Result) -> None:
    rows = result.utilisation("cpu", "zone").to_pylist()
    assert [one["item"] for one in rows] == ["z1", "z2"]
    assert [one["before"] for one in rows] == [6, 0]
    assert sum(one["after"] for one in rows) == 6
    assert [one["capacity"] for one in rows] == [4, 8]
    assert rows[0]["share"] == rows[0]["after"] / 4
    assert result.utilisation("count").to_pylist()[0]["capacity"] is None
    with pytest.raises(UnknownName, match="no scope named 'zon'; did you mean 'zone'"):
        result.utilisation("cpu", "zon")


def test_gaps_are_relative_and_infinite_where_nothing_is_proven(result: Result) -> None:
    assert result.gaps == (0.0, 0.0)
    assert result.gap == 0.0
    assert replace(result, bound=(0.0, 3.0)).gaps[1] == pytest.approx(1 - 3 / result.objective[1][0])
    cut = replace(result, bound=())
    assert cut.gap == math.inf
    assert json.loads(cut.to_json())["gap"] is None


def test_the_document_says_it_all(result: Result) -> None:
    said = json.loads(result.to_json(indent=1))
    assert (said["solver"], said["stopped_by"], said["moved"]) == ("mip", "optimal", result.moved)
    assert [one["level"] for one in said["levels"]] == ["broken", "priority 2"]
    assert said["levels"][0]["before"] == result.broken[0]
    assert said["specs"] == result.by_spec().to_pylist()
    assert said["moves"] == result.moves().to_pylist()


def test_two_answers_are_compared_by_spec(problem: Problem, result: Result) -> None:
    stays = solve(problem, Limits(nodes_max=0), solver="mip", start=problem.initial)
    problem.add_goal(BalanceSpec(dimension="cpu"), priority=3)
    other = solve(problem, Limits(nodes_max=1_000), solver="mip")
    compared = result.compare(other)
    assert compared.differ == (result.assignment != other.assignment).sum()
    assert [one.before for one in compared.changes] == pytest.approx(result.by_spec()["after"].to_pylist())
    assert stays.compare(stays).verdict == 0
