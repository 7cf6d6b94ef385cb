"""Build a small world that every spec applies to, and compute utilisation in plain Python for comparison."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem import Problem

OBJECTS, CONTAINERS, RACKS, JOBS = 24, 7, 3, 5


def small_world(seed: int = 0) -> Problem:
    """Return 24 objects in 5 jobs on 7 containers in 3 racks. Container 6 has no rack, object 0 no job; tags
    overlap.
    """
    rng = np.random.default_rng(seed)
    problem = Problem(
        objects=[f"task{k}" for k in range(OBJECTS)],
        containers=[f"host{k}" for k in range(CONTAINERS)],
        initial=rng.integers(CONTAINERS, size=OBJECTS),
    )
    problem.add_scope("rack", [0, 0, 1, 1, 2, 2, -1], ["rack0", "rack1", "rack2"])
    job = rng.integers(JOBS, size=OBJECTS)
    job[0] = -1
    problem.add_partition("job", job, [f"job{k}" for k in range(JOBS)])
    member = np.concatenate([np.arange(OBJECTS), np.arange(0, OBJECTS, 3)])
    tag = np.concatenate([np.arange(OBJECTS) % 3, np.full(len(range(0, OBJECTS, 3)), 3)])
    problem.add_overlapping_partition("tag", member, tag, 4)
    cpu = rng.integers(1, 9, size=OBJECTS)
    problem.add_dimension("cpu", cpu, containers=rng.integers(8, 20, size=CONTAINERS))
    table = rng.integers(-3, 6, size=(4, CONTAINERS))
    classes = rng.integers(4, size=OBJECTS)
    problem.add_dimension("liking", 1.0, by_item=("container", classes, table), signed=True)
    problem.add_dimension("rru", cpu, by_item=("rack", classes, np.abs(table[:, :RACKS])))
    problem.add_capacity("rru", "rack", [30.0, 25.0, 40.0])
    return problem


def random_assignment(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(CONTAINERS, size=OBJECTS)


def util(
    p: Problem, assignment, scope: str, dimension: str, partition: str | None = None, flavour: Flavour = Flavour.AFTER
) -> dict[tuple[int, int], float]:
    """Return (item, group) -> utilisation, object by object from the definition; group 0 without a partition."""
    found: dict[tuple[int, int], float] = defaultdict(float)
    item_of, d = p.scopes[scope].item, p.dimensions[dimension]
    for o in range(OBJECTS):
        before, after = int(p.initial[o]), int(assignment[o])
        held = []
        if flavour in (Flavour.AFTER, Flavour.ANY) or (flavour is Flavour.NEW and item_of[before] != item_of[after]):
            held.append(after)
        if flavour is Flavour.STAYED and item_of[before] == item_of[after]:
            held.append(after)
        if flavour is Flavour.INITIAL:
            held.append(before)
        if flavour in (Flavour.OLD, Flavour.ANY) and item_of[before] != item_of[after]:
            held.append(before)
        groups = [0] if partition is None else np.flatnonzero(p.partitions[partition].matrix.toarray()[:, o]).tolist()
        for container in held:
            value = float(d.objects[o])
            if d.by_item is not None:
                item = int(d.by_item.scope.item[container])
                value *= float(d.by_item.table[d.by_item.classes[o], item]) if item >= 0 else 0.0
            if item_of[container] >= 0:
                for group in groups:
                    found[int(item_of[container]), group] += value
    return found
