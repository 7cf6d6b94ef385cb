"""Write a case as Python that states it, so that a finding can be pasted and run."""

from __future__ import annotations

import dataclasses
import math
from enum import Enum
from typing import Any

import numpy as np

from benchmarks.fuzz.case import Case, Wish
from benchmarks.fuzz.runs import Run


class Writer:
    """Writes Python for values, and collects the imports."""

    def __init__(self) -> None:
        self.imports: set[str] = set()

    def of(self, value: Any) -> str:
        """Return the Python of a value, without fields that have their default."""
        if isinstance(value, Enum):
            self.use(type(value))
            return f"{type(value).__name__}.{value.name}"
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            self.use(type(value))
            said = [
                f"{field.name}={self.of(getattr(value, field.name))}"
                for field in dataclasses.fields(value)
                if not _is_default(field, getattr(value, field.name))
            ]
            return f"{type(value).__name__}({', '.join(said)})"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{self.of(k)}: {self.of(v)}" for k, v in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(self.of(one) for one in value) + "]"
        if isinstance(value, tuple):
            return "(" + "".join(f"{self.of(one)}, " for one in value).rstrip() + ")"
        if callable(value):
            self.use(value)
            return str(value.__name__)
        return "float('inf')" if isinstance(value, float) and math.isinf(value) else repr(value)

    def use(self, thing: Any) -> None:
        """Import a name."""
        self.imports.add(f"from {thing.__module__} import {thing.__name__}")


def script_of(case: Case, run: Run, seed: int) -> str:
    """Return a script that states the problem, solves it, and prints the claims of the result."""
    write = Writer()
    write.imports |= {"import numpy as np", "from libs.assignment.language.problem import Problem"}
    objects, containers = (
        write.of(case.labels(*each)) for each in (("object", case.objects), ("container", case.containers))
    )
    lines = [f"p = Problem(objects={objects}, containers={containers}, initial=np.array({list(case.initial)}, int))"]
    for name, scope in case.scopes.items():
        labels = write.of(case.labels(name, scope.items))
        lines.append(f"p.add_scope({name!r}, np.array({list(scope.item)}, int), {labels})")
    for name, part in case.partitions.items():
        pairs = f"np.array({list(part.member)}, int), np.array({list(part.group)}, int)"
        labels = write.of(case.labels(name, part.groups))
        lines.append(f"p.add_overlapping_partition({name!r}, {pairs}, {labels})")
    for name, words in case.dimensions.items():
        said = [repr(name), repr(list(words.objects))]
        if words.containers is not None:
            said.append(f"containers={list(words.containers)}")
        if words.by_item is not None:
            of, classes, table = words.by_item
            size = case.containers if of == "container" else case.scopes[of].items
            rows = f"np.array({[list(row) for row in table]}).reshape({len(table)}, {size})"
            said.append(f"by_item=({of!r}, np.array({list(classes)}, int), {rows})")
        if words.signed:
            said.append("signed=True")
        lines.append(f"p.add_dimension({', '.join(said)})")
        lines += [
            f"p.add_capacity({name!r}, {of!r}, {list(values)}, signed={words.signed})"
            for of, values in words.capacities
        ]
    lines += [_wish(write, wish) for wish in case.wishes]
    lines.append(f"r = {run.text(write.of, 'p', seed)}")
    lines.append("print(r.assignment, r.broken, r.objective, r.bound, r.in_words())")
    return "\n".join([*sorted(write.imports), *lines])


def _wish(write: Writer, wish: Wish) -> str:
    if wish.goal:
        words = f"weight={wish.weight!r}, priority={wish.priority}, normalise={wish.normalise}"
        return f"p.add_goal({write.of(wish.spec)}, {words})"
    return f"p.add_constraint({write.of(wish.spec)}, hard={wish.hard}, weight={wish.weight!r})"


def _is_default(field: dataclasses.Field[Any], value: Any) -> bool:
    default = field.default
    if default is dataclasses.MISSING:
        default = None if field.default_factory is dataclasses.MISSING else field.default_factory()
        if default is None:
            return False
    if type(value) is not type(default):
        return False
    if dataclasses.is_dataclass(value):
        return all(
            np.array_equal(getattr(value, one.name), getattr(default, one.name)) for one in dataclasses.fields(value)
        )
    return bool(value == default)
