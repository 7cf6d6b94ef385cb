"""Define a part of a problem: a subset of objects and containers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """The objects that a part assigns, and their containers. All objects start in one of these.

    objects     (n,) in rising order
    containers  (c,) in rising order; a split container is in every part
    """

    objects: Ints
    containers: Ints


def parts_of(initial: Ints, part_of_container: Ints, part_of_object: Ints, parts: int) -> tuple[Part, ...]:
    """Make parts from a distribution.

    initial            (N,) the container of each object
    part_of_container  (C,) a part, or -1: split, in every part
    part_of_object     (N,) used for objects of split containers; the others follow their container
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
