"""Draw tiny random worlds: objects, containers, sets of both, and amounts of every magnitude."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.fuzz.case import Case, DimensionWords, Numbers, PartitionWords, ScopeWords
from benchmarks.fuzz.draw import Draw

ODD = 0.08
"""Probability of a rare shape: no group, no capacity, one container."""
UNITS = (1e9, 1e9, 1e6, 1e-3, 1e-9)
"""Units of amounts other than 1: bytes, for example, or shares."""
APART = (1e9, 1e6, 1e-6)
"""Factors between the values of large and small objects, if they differ."""


def draw_world(draw: Draw, assignments_max: int) -> Case:
    """Return a world with at most `assignments_max` assignments. It becomes the draw's case."""
    containers = 1 if draw.maybe(ODD / 2) else int(draw.rng.integers(2, 5))
    most = 7 if containers == 1 else min(7, int(np.log(assignments_max + 0.5) / np.log(containers)))
    objects = 0 if draw.maybe(ODD / 4) else int(draw.rng.integers(1, most + 1))
    initial = tuple(int(c) for c in draw.rng.integers(containers, size=objects))
    if draw.maybe(0.2):  # all objects start in one container
        initial = (containers - 1,) * objects
    draw.case = Case(
        objects=objects,
        containers=containers,
        initial=initial,
        named=draw.maybe(0.2),
        scopes=draw_scopes(draw, containers),
        partitions={
            "job": _partition(draw, objects, overlap=False),
            "team": _partition(draw, objects, overlap=True),
        },
    )
    for name in ("cpu", "memory", "debt", "like")[: int(draw.rng.integers(1, 5))]:
        draw.case.dimensions[name] = _dimension(draw, name)
    return draw.case


def draw_scopes(draw: Draw, containers: int) -> dict[str, ScopeWords]:
    """Draw up to two scopes. Some containers may be in no item, and some items empty."""
    scopes = {}
    for name in ("rack", "zone")[: int(draw.rng.integers(3))]:
        items = 0 if draw.maybe(ODD / 2) else int(draw.rng.integers(1, 4))
        low = -1 if items == 0 or draw.maybe(0.3) else 0
        scopes[name] = ScopeWords(item=tuple(int(i) for i in draw.rng.integers(low, items, containers)), items=items)
    return scopes


def in_unit(words: DimensionWords, unit: float) -> DimensionWords:
    """Return the dimension `words` with all amounts multiplied by `unit`."""

    def times(values: Numbers) -> Numbers:
        return tuple(unit * value for value in values)

    return replace(
        words,
        objects=times(words.objects),
        containers=None if words.containers is None else times(words.containers),
        capacities=tuple((scope, times(values)) for scope, values in words.capacities),
        unit=unit,
    )


def unlike(draw: Draw, words: DimensionWords) -> DimensionWords:
    """Return the dimension `words` changed: some objects are far larger, and some containers have room for these
    objects.
    """
    by = draw.one(APART)

    def some(values: Numbers, share: float) -> Numbers:
        return tuple(by * value + draw.whole(2) if draw.maybe(share) else value for value in values)

    room = None if words.containers is None else some(words.containers, 0.7)
    return replace(words, objects=some(words.objects, 0.4), containers=room)


def _partition(draw: Draw, objects: int, *, overlap: bool) -> PartitionWords:
    groups = 0 if draw.maybe(ODD / 4) else int(draw.rng.integers(1, 4))
    share = 0.0 if draw.maybe(ODD) else 0.6
    pairs = []
    for o in range(objects if groups else 0):
        if overlap:
            pairs += [(o, g) for g in range(groups) if draw.maybe(share)]
        elif draw.maybe(0.9):
            pairs.append((o, int(draw.rng.integers(groups))))
    return PartitionWords(member=tuple(o for o, _ in pairs), group=tuple(g for _, g in pairs), groups=groups)


def _dimension(draw: Draw, name: str) -> DimensionWords:
    """Draw a dimension: `debt` has a sign, `like` differs by place, the others are typical of machines."""
    objects, containers = draw.case.objects, draw.case.containers
    signed = name == "debt" or (name == "like" and draw.maybe(0.4))
    least = -3 if signed else 0
    if name == "debt":
        return _of_magnitude(draw, DimensionWords(objects=draw.numbers(objects, 3, least), signed=True))
    if name == "like":
        scope = draw.scope()
        classes = int(draw.rng.integers(1, 3))
        table = tuple(draw.numbers(draw.items(scope), 4, least) for _ in range(classes))
        of = tuple(int(k) for k in draw.rng.integers(classes, size=objects))
        values = (1.0,) * objects if draw.maybe(0.6) else draw.numbers(objects, 3, least)
        capacity = draw.numbers(containers, 8) if draw.maybe(0.4) else None
        return DimensionWords(objects=values, containers=capacity, signed=signed, by_item=(scope, of, table))
    values = draw.numbers(objects, 4, 0 if draw.maybe(0.3) else 1)
    if draw.maybe(0.2):  # all equal
        values = (2.0,) * objects
    room = draw.numbers(containers, 9) if draw.maybe(0.85) else None
    if room is not None and draw.maybe(ODD / 2):  # effectively no limit
        room = tuple(1e9 * value for value in room)
    capacities = tuple((scope, draw.numbers(draw.items(scope), 12)) for scope in draw.case.scopes if draw.maybe(0.3))
    return _of_magnitude(draw, DimensionWords(objects=values, containers=room, capacities=capacities))


def _of_magnitude(draw: Draw, words: DimensionWords) -> DimensionWords:
    """Draw a magnitude, mostly 1."""
    if draw.maybe(ODD):
        return unlike(draw, words)
    return in_unit(words, draw.one(UNITS)) if draw.maybe(2 * ODD) else words
