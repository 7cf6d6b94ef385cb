"""Names replace indices by label, never by accident of position."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from libs.assignment import (
    AvoidMovingSpec,
    BadValues,
    BalanceSpec,
    Bound,
    CapacitySpec,
    ColocateGroupsSpec,
    Filter,
    GroupCountSpec,
    Limit,
    LimitType,
    MinimizeBinsSpec,
    ModelError,
    Problem,
    ToFreeSpec,
    UnknownName,
    solve,
)

TASKS, HOSTS = ["t0", "t1", "t2", "t3"], ["a", "b", "c"]
WHERE = ["b", "a", "b", "c"]
INDICES = [1, 0, 1, 2]


class Series:
    """A stand-in for a pandas Series: values with labels."""

    def __init__(self, values: list[Any], index: list[Any] | None = None) -> None:
        self._values = values
        self.index = Index(list(range(len(values))) if index is None else index)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._values, dtype=dtype)

    def to_numpy(self) -> np.ndarray:
        return np.array(self._values)

    def tolist(self) -> list[Any]:
        return self._values


class Index:
    def __init__(self, labels: list[Any]) -> None:
        self._labels = labels

    def to_numpy(self) -> np.ndarray:
        return np.array(self._labels)

    def tolist(self) -> list[Any]:
        return self._labels


def pandas_series(values: list[Any], index: list[Any] | None = None) -> Any:
    return pytest.importorskip("pandas").Series(values, index=index)


def polars_series(values: list[Any]) -> Any:
    return pytest.importorskip("polars").Series(values)


def chunked(values: list[Any]) -> pa.ChunkedArray:
    return pa.chunked_array([values[:1], values[1:]])


COLUMNS = [list, tuple, np.array, pa.array, chunked, Series, pandas_series, polars_series]
LABELLED = [Series, pandas_series]


def world(initial: Any = WHERE, tasks: Any = TASKS, hosts: Any = HOSTS) -> Problem:
    return Problem(objects=tasks, containers=hosts, initial=initial)


@pytest.mark.parametrize("column", COLUMNS)
def test_names_and_numbers_come_in_any_kind_of_column(column: Callable[[list[Any]], Any]) -> None:
    problem = world(column(WHERE), column(TASKS), column(HOSTS))
    assert problem.initial.tolist() == world(column(INDICES)).initial.tolist() == INDICES
    assert problem.objects.names == tuple(TASKS)
    scope = problem.add_scope("rack", column(["r1", "r0", "r1"]))
    assert (scope.items.names, scope.item.tolist()) == (("r1", "r0"), [0, 1, 0])
    group = problem.add_partition("job", column(["x", "y", "y", "x"]), column(["y", "x"]))
    assert group.matrix.toarray().tolist() == [[0, 1, 1, 0], [1, 0, 0, 1]]
    many = problem.add_overlapping_partition("team", column(["t0", "t0", "t3"]), column(["p", "q", "q"]))
    assert many.matrix.toarray().tolist() == [[1, 0, 0, 0], [1, 0, 0, 1]]
    found = problem.add_dimension("cpu", column([1.5, 2, 3, 4]), containers=column([8, 9, 10]))
    assert found.objects.tolist() == [1.5, 2, 3, 4]
    assert found.capacities["container"].tolist() == [8, 9, 10]
    assert Filter(but=column(["a"])).kept("", problem.containers).tolist() == [1, 2]
    assert Limit(items=column([1, 2, 3])).by_item("", problem.containers).tolist() == [1, 2, 3]
    assert ToFreeSpec(items=column(["b"])).excess(problem)[0].value(problem.initial).tolist() == [[2.0]]
    assert AvoidMovingSpec(objects=column(["t1"])).scale(problem) == 1


@pytest.mark.parametrize("series", LABELLED)
def test_a_series_is_aligned_by_its_index(series: Callable[..., Any]) -> None:
    shuffled = series(["a", "c", "b", "b"], ["t1", "t3", "t0", "t2"])
    problem = world(shuffled)
    assert problem.initial.tolist() == INDICES
    found = problem.add_dimension("cpu", series([40, 10, 20, 30], [3, 0, 1, 2]))
    assert found.objects.tolist() == [10, 20, 30, 40]
    problem.add_capacity("cpu", "container", series([3.0, 1.0, 2.0], ["c", "a", "b"]))
    assert problem.dimensions["cpu"].capacities["container"].tolist() == [1, 2, 3]
    assert problem.add_scope("rack", series(["r", "s", "r"], ["c", "b", "a"])).item.tolist() == [0, 1, 0]
    assert Limit(items=series([5, 7], ["c", "a"]), default=2).by_item("", problem.containers).tolist() == [7, 2, 5]
    cost = MinimizeBinsSpec(costs=series([4.0], ["b"]))
    assert cost.cost(problem).value(problem.initial).tolist() == [[6.0]]


@pytest.mark.parametrize("series", LABELLED)
def test_a_series_whose_index_does_not_match_is_refused(series: Callable[..., Any]) -> None:
    with pytest.raises(UnknownName, match="initial: no object named 't9'"):
        world(series(WHERE, ["t0", "t1", "t2", "t9"]))
    with pytest.raises(BadValues, match="no value for t3; a column with labels needs one"):
        world(series(WHERE[:3], TASKS[:3]))
    with pytest.raises(BadValues, match="initial: the index has names that occur twice: t0"):
        world(series(WHERE, ["t0", "t0", "t1", "t2"]))
    with pytest.raises(BadValues, match="dimension 'cpu', objects: object 7 is outside"):
        world().add_dimension("cpu", series([1, 2, 3, 4], [7, 1, 2, 3]))


def test_mappings_are_read_by_label() -> None:
    problem = world(dict(zip(TASKS, WHERE, strict=True)))
    assert problem.initial.tolist() == INDICES
    problem.add_dimension("cpu", {"t3": 4, "t2": 3, "t1": 2, "t0": 1})
    assert problem.dimensions["cpu"].objects.tolist() == [1, 2, 3, 4]
    with pytest.raises(BadValues, match="no value for t0"):
        problem.add_dimension("memory", {"t3": 4, "t2": 3, "t1": 2})
    with pytest.raises(BadValues, match="several values for t0"):
        world({**dict(zip(TASKS, WHERE, strict=True)), 0: "a"})
    assert solve(problem, solver="mip", start={"t0": "a", "t1": "a", "t2": "a", "t3": 1}).moved == 0


def test_none_stands_for_no_group() -> None:
    for given in (["x", None, "x", "y"], pa.array(["x", None, "x", "y"]), ["x", -1, "x", "y"]):
        assert world().add_partition("job", given).matrix.sum(axis=0).tolist() == [1, 0, 1, 1]
    numbers = world().add_partition("job", pa.array([0, None, 0, 1]))
    assert (len(numbers), numbers.matrix.sum()) == (2, 3)
    with pytest.raises(BadValues, match="initial: -1 is no container; add a container for objects without a place"):
        world(pa.array(["a", None, "b", "b"]))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: world(["a", "b", "b", "d"]), "initial: no container named 'd'"),
        (lambda: world(["aa", "b", "b", "c"], hosts=["alpha", "b", "c"]), "initial: no container named 'aa'"),
        (lambda: world([0, 1, 2, 3]), r"initial: indices are outside 0\.\.2 at 3"),
        (lambda: world([0.0, 1.0, 2.0, 1.0]), "initial: expected integers, got float64"),
        (lambda: world([True, False, True, True]), "initial: expected integers, got bool"),
        (lambda: world(["a", "b", "b"]), "initial: expected 4 names or indices"),
        (lambda: world(WHERE, hosts=3), "initial: container 'b' is a name, but the containers have none"),
        (lambda: world(WHERE, hosts="abc"), "container: 'abc'; expected a number or a list of names"),
        (lambda: world(WHERE, hosts=[1, 2, 3]), "container: 1, 2, 3; expected names, which are strings"),
        (lambda: world(WHERE, tasks=True), "object: True; expected a number"),
        (lambda: world().add_dimension("cpu", ["x", 1, 2, 3]), "dimension 'cpu', objects: expected numbers, got 'x'"),
        (lambda: world().add_dimension("cpu", ["1", "2", "3", "4"]), "objects: expected numbers, got '1', '2'"),
        (lambda: CapacitySpec(dimension="cpu", bound="MAXI"), "no Bound named 'MAXI'; did you mean 'MAX'"),
        (
            lambda: BalanceSpec(dimension="cpu", formula="squares"),
            "no BalanceFormula named 'squares'; did you mean 'SQ",
        ),
        (lambda: CapacitySpec(dimension="cpu", limit="2"), "CapacitySpec: limit = '2'; expected a number, a mapping"),
        (lambda: CapacitySpec(dimension="cpu", limit=True), "CapacitySpec: limit = True; expected a number"),
        (lambda: CapacitySpec(dimension="cpu", limit=float("nan")), "limit = nan; expected a finite number"),
        (lambda: CapacitySpec(dimension="cpu", filter=3), "CapacitySpec: filter = 3; expected names"),
        (lambda: Limit(type="RELATIV"), "Limit: type: no LimitType named 'RELATIV'; did you mean 'RELATIVE'"),
        (lambda: BalanceSpec("cpu"), "BalanceSpec: 'cpu': give fields by name; it has name, dimension"),
        (lambda: Filter(but=[True]).kept("here", world().containers), "here, filter: container True; expected a name"),
    ],
)
def test_what_is_wrong_is_refused_with_field_value_and_nearest_name(make: Callable[[], object], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        make()


def test_sizes_may_be_numpy_integers() -> None:
    problem = Problem(objects=np.int64(3), containers=np.int32(2), initial=[0, 1, 1])
    assert (len(problem.objects), len(problem.containers)) == (3, 2)


def test_words_and_plain_numbers_stand_for_enums_limits_and_filters() -> None:
    spec = CapacitySpec(dimension="cpu", bound="MIN", limit=2, filter=["a", "b"])
    assert spec.bound is Bound.MIN
    assert (spec.limit.default, spec.limit.type) == (2.0, LimitType.ABSOLUTE)
    assert spec.filter == Filter(items=["a", "b"])
    assert Limit(type="RELATIVE").type is LimitType.RELATIVE
    per_item = GroupCountSpec(partition="job", limit={"a": 3, "b": np.int64(2)})
    assert per_item.limit.items == {"a": 3, "b": 2}
    assert ColocateGroupsSpec(partition="job", limit=np.float64(2)).limit.default == 2.0
    assert Filter(but="waiting").but == ["waiting"]
    assert ToFreeSpec(items="host").items == ["host"]
