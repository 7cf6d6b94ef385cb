"""Find a smaller case with the same finding, by leaving out and simplifying."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from benchmarks.fuzz.case import Case, DimensionWords, PartitionWords, ScopeWords, Wish
from libs.assignment.language.specs.spec import Spec

ROUNDS_MAX = 40


def shrink(case: Case, shows: Callable[[Case], bool]) -> Case:
    """Return a small case that still shows a finding. Take the first simpler case for which `shows` is true, and repeat
    this until no simpler case is left.
    """
    for _ in range(ROUNDS_MAX):
        for simpler in simpler_cases(case):
            if shows(simpler):
                case = simpler
                break
        else:
            return case
    return case


def simpler_cases(case: Case) -> Iterator[Case]:
    """Yield cases that each have one simplification. Some cases are invalid, so the caller must test every case."""
    for k in range(len(case.wishes)):
        yield replace(case, wishes=_without(case.wishes, k))
    if case.named:
        yield replace(case, named=False)
    for k in reversed(range(case.objects if case.objects > 1 else 0)):
        yield _without_object(case, k)
    for k in reversed(range(case.containers if case.containers > 1 else 0)):
        yield _without_container(case, k)
    for kind in ("dimensions", "partitions", "scopes"):
        known = getattr(case, kind)
        for name in known:
            rest: Any = {kind: {key: value for key, value in known.items() if key != name}}
            yield replace(case, **rest)
    for k, wish in enumerate(case.wishes):
        for simpler in _simpler_wishes(wish):
            yield replace(case, wishes=(*case.wishes[:k], simpler, *case.wishes[k + 1 :]))
    for name, words in case.dimensions.items():
        for plainer in _simpler_dimensions(words):
            yield replace(case, dimensions={**case.dimensions, name: plainer})


def _without(values: tuple[Any, ...], k: int) -> tuple[Any, ...]:
    return values[:k] + values[k + 1 :]


def _without_object(case: Case, o: int) -> Case:
    """Remove an object. Later numbers then mean other objects."""
    dimensions = {}
    for name, words in case.dimensions.items():
        by_item = words.by_item
        if by_item is not None:
            by_item = (by_item[0], _without(by_item[1], o), by_item[2])
        dimensions[name] = replace(words, objects=_without(words.objects, o), by_item=by_item)
    partitions = {}
    for name, part in case.partitions.items():
        pairs = [(m - (m > o), g) for m, g in zip(part.member, part.group, strict=True) if m != o]
        partitions[name] = PartitionWords(
            member=tuple(m for m, _ in pairs), group=tuple(g for _, g in pairs), groups=part.groups
        )
    return replace(
        case,
        objects=case.objects - 1,
        initial=_without(case.initial, o),
        dimensions=dimensions,
        partitions=partitions,
    )


def _without_container(case: Case, c: int) -> Case:
    """Remove a container. Its objects begin in the first remaining one."""
    dimensions = {}
    for name, words in case.dimensions.items():
        by_item, containers = words.by_item, words.containers
        if by_item is not None and by_item[0] == "container":
            by_item = (by_item[0], by_item[1], tuple(_without(row, c) for row in by_item[2]))
        if containers is not None:
            containers = _without(containers, c)
        dimensions[name] = replace(words, containers=containers, by_item=by_item)
    scopes = {name: ScopeWords(item=_without(scope.item, c), items=scope.items) for name, scope in case.scopes.items()}
    initial = tuple(0 if k == c else k - (k > c) for k in case.initial)
    return replace(case, containers=case.containers - 1, initial=initial, dimensions=dimensions, scopes=scopes)


def _simpler_wishes(wish: Wish) -> Iterator[Wish]:
    plain: Any
    for plain in ({"weight": 1.0}, {"priority": 0}, {"normalise": False}, {"hard": True}):
        simpler = replace(wish, **plain)
        if simpler != wish:
            yield simpler
    for spec in _simpler_specs(wish.spec):
        yield replace(wish, spec=spec)


def _simpler_specs(spec: Spec) -> Iterator[Spec]:
    """Yield simpler specs: a member instead of the whole, a field at its default, or shorter lists."""
    members = getattr(spec, "specs", None)
    if members is not None:
        yield from members
    for field in dataclasses.fields(spec):
        value: Any = getattr(spec, field.name)
        if field.default is not dataclasses.MISSING and value is not field.default:
            yield from _tried(spec, field.name, field.default)
        if isinstance(value, list):
            for k in range(len(value)):
                yield from _tried(spec, field.name, value[:k] + value[k + 1 :])
        if isinstance(value, dict):
            for key in value:
                yield from _tried(spec, field.name, {k: v for k, v in value.items() if k != key})
        if field.name == "specs":
            for k, one in enumerate(value):
                for simpler in _simpler_specs(one):
                    yield from _tried(spec, field.name, [*value[:k], simpler, *value[k + 1 :]])


def _tried(spec: Spec, field: str, value: Any) -> Iterator[Spec]:
    try:
        yield replace(spec, **{field: value})
    except ValueError:  # a field checks itself
        return


def _simpler_dimensions(words: DimensionWords) -> Iterator[DimensionWords]:
    for k in range(len(words.capacities)):
        yield replace(words, capacities=_without(words.capacities, k))
    if words.by_item is not None:
        yield replace(words, by_item=None)
    for name in ("objects", "containers"):
        values = getattr(words, name)
        for k, value in enumerate(values or ()):
            for plain in (1.0, 0.0):
                if abs(value) > plain:
                    simpler: Any = {name: (*values[:k], plain, *values[k + 1 :])}
                    yield replace(words, **simpler)
