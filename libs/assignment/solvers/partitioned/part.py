"""Define a part of a problem: a subset of objects and containers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """A part of a problem: the objects that the part assigns, and the containers that it may assign them to.

    Every object of the part starts in a container of the part.

    objects     (n,) the numbers of the objects in the whole problem, in rising order
    containers  (c,) the numbers of the containers in the whole problem, in rising order. A split container is in every
                part
    """

    objects: Ints
    containers: Ints


def parts_of(initial: Ints, part_of_container: Ints, part_of_object: Ints, parts: int) -> tuple[Part, ...]:
    """Make `parts` parts from a distribution of containers and objects.

    initial            (N,) the container of each object at the start
    part_of_container  (C,) the part of each container; -1: the container is split, so it is in every part
    part_of_object     (N,) the part of each object that starts in a split container. Any other object is in the part of
                       its container
    """
    home = part_of_container[initial]
    of = np.where(home >= 0, home, part_of_object)
    return tuple(
        Part(
            objects=np.flatnonzero(of == part),
            containers=np.flatnonzero((part_of_container == part) | (part_of_container < 0)),
        )
        for part in range(parts)
    )
