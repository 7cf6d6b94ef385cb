"""Convert a problem, as stated, to a document with separate arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from libs.assignment.language.errors import ModelError
from libs.assignment.language.labels import Labels
from libs.assignment.language.problem import Problem
from libs.assignment.language.problem_names import CONTAINER, COUNT
from libs.assignment.language.specs.spec import Spec
from libs.assignment.replay.codec import Reader, Writer, expect

PARTS = ["objects", "containers", "initial", "scopes", "partitions", "dimensions", "constraints", "goals"]


def write_problem(writer: Writer, problem: Problem) -> dict[str, Any]:
    """Return the document of a problem."""
    return {
        "objects": _write_labels(writer, problem.objects),
        "containers": _write_labels(writer, problem.containers),
        "initial": writer.keep(problem.initial),
        "scopes": {
            name: {"item": writer.keep(scope.item), "items": _write_labels(writer, scope.items)}
            for name, scope in problem.scopes.items()
            if name != CONTAINER
        },
        "partitions": {
            name: _write_partition(writer, partition.matrix, partition.groups)
            for name, partition in problem.partitions.items()
        },
        "dimensions": {name: _write_dimension(writer, problem, name) for name in problem.dimensions if name != COUNT},
        "constraints": [
            {"spec": writer.write(one.spec.where, one.spec), "hard": one.hard, "weight": one.weight}
            for one in problem.constraints
        ],
        "goals": [
            {
                "spec": writer.write(one.spec.where, one.spec),
                "weight": one.weight,
                "priority": one.priority,
                "normalise": one.scale != 1.0,
            }
            for one in problem.goals
        ],
    }


def read_problem(reader: Reader, given: Any) -> Problem:
    """State the problem of a document again. This repeats all checks."""
    expect("problem", given, PARTS, needed=tuple(PARTS))
    problem = Problem(
        objects=_read_labels(reader, "objects", given["objects"]),
        containers=_read_labels(reader, "containers", given["containers"]),
        initial=reader.array("initial", given["initial"]),
    )
    for name, one in given["scopes"].items():
        expect(f"scope {name!r}", one, ["item", "items"], needed=("item", "items"))
        item = reader.array(f"scope {name!r}", one["item"])
        problem.add_scope(name, item, _read_labels(reader, f"scope {name!r}", one["items"]))
    for name, one in given["partitions"].items():
        where = f"partition {name!r}"
        expect(where, one, ["member", "group", "groups"], needed=("member", "group", "groups"))
        member, group = reader.array(where, one["member"]), reader.array(where, one["group"])
        problem.add_overlapping_partition(name, member, group, _read_labels(reader, where, one["groups"]))
    for name, one in given["dimensions"].items():
        _read_dimension(reader, problem, name, one)
    for number, one in enumerate(given["constraints"]):
        where = f"constraint {number}"
        expect(where, one, ["spec", "hard", "weight"], needed=("spec", "hard", "weight"))
        problem.add_constraint(_read_spec(reader, where, one), hard=one["hard"], weight=one["weight"])
    for number, one in enumerate(given["goals"]):
        where, fields = f"goal {number}", ("spec", "weight", "priority", "normalise")
        expect(where, one, list(fields), needed=fields)
        counts = {"weight": one["weight"], "priority": one["priority"], "normalise": one["normalise"]}
        problem.add_goal(_read_spec(reader, where, one), **counts)
    return problem


def _read_spec(reader: Reader, where: str, given: dict[str, Any]) -> Spec:
    spec = reader.read(where, given["spec"])
    if not isinstance(spec, Spec):
        raise ModelError(f"{where}: {type(spec).__name__} is not a spec")
    return spec


def _write_labels(writer: Writer, labels: Labels) -> dict[str, Any]:
    if labels.names is None:
        return {"size": len(labels)}
    return {"names": writer.keep(np.array(labels.names, dtype=np.str_))}


def _read_labels(reader: Reader, where: str, given: Any) -> int | list[str]:
    expect(where, given, ["size", "names"])
    if "size" in given:
        return int(given["size"])
    return [str(name) for name in reader.array(where, given.get("names"))]


def _write_partition(writer: Writer, matrix: Any, groups: Labels) -> dict[str, Any]:
    group, member = sparse.coo_array(matrix).coords
    return {
        "member": writer.keep(np.asarray(member, dtype=np.int64)),
        "group": writer.keep(np.asarray(group, dtype=np.int64)),
        "groups": _write_labels(writer, groups),
    }


def _write_dimension(writer: Writer, problem: Problem, name: str) -> dict[str, Any]:
    dimension = problem.dimensions[name]
    by = dimension.by_item
    return {
        "objects": writer.keep(dimension.objects),
        "by_item": None
        if by is None
        else {"scope": by.scope.name, "classes": writer.keep(by.classes), "table": writer.keep(by.table)},
        "capacities": {scope: writer.keep(values) for scope, values in dimension.capacities.items()},
    }


def _read_dimension(reader: Reader, problem: Problem, name: str, given: Any) -> None:
    where = f"dimension {name!r}"
    expect(where, given, ["objects", "by_item", "capacities"], needed=("objects", "by_item", "capacities"))
    by = given["by_item"]
    if by is not None:
        expect(f"{where}, by_item", by, ["scope", "classes", "table"], needed=("scope", "classes", "table"))
        by = (by["scope"], reader.array(where, by["classes"]), reader.array(where, by["table"]))
    problem.add_dimension(name, reader.array(where, given["objects"]), by_item=by, signed=True)
    for scope, values in given["capacities"].items():
        problem.add_capacity(name, scope, reader.array(where, values), signed=True)
