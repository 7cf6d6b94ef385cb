"""Find similar objects: those that hardly differ in the counted quantities.

If containers are nearly full, a swap fits only if each object leaves about the room that the other needs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from libs.assignment.graph.stacking import Stack
from libs.assignment.language.arrays import Floats, Ints

NEAREST = 17
"""Kinds near a kind, including itself."""
DIRECTIONS = 4
"""Directions in which kinds are compared: those with the largest differences. With many more, a search for the nearest
would read nearly all kinds.
"""


class Alike(NamedTuple):
    """Kinds of objects with the same counted quantities, and the kinds near each.

    of       (N,) the kind of each object; 0 for objects that were not compared
    near     (K, min(NEAREST, K)) the kinds nearest to each
    first    (K + 1,) the members of kind k are members[first[k] : first[k + 1]]
    members  the compared objects, by kind
    """

    of: Ints
    near: Ints
    first: Ints
    members: Ints


def alike(stacks: list[Stack], objects: Ints) -> Alike:
    """Compare objects by the quantities that the stacks (one or more) count, each relative to its mean."""
    values = np.concatenate([stack.values for stack in stacks], axis=1)
    counted = len(values)
    values = values[objects]
    values = values / np.maximum(np.abs(values).mean(axis=0), np.finfo(np.float64).tiny)
    kinds, of, sizes = np.unique(values, axis=0, return_inverse=True, return_counts=True)
    of = of.ravel().astype(np.int64)
    of_all = np.zeros(counted, dtype=np.int64)
    of_all[objects] = of
    places = _directions(kinds)
    near = KDTree(places).query(places, np.arange(1, min(NEAREST, len(kinds)) + 1))[1]
    first = np.concatenate([[0], np.cumsum(sizes)])
    return Alike(of_all, np.asarray(near, dtype=np.int64), first, objects[np.argsort(of, kind="stable")])


def _directions(kinds: Floats) -> Floats:
    """Return the kinds along the directions of the largest differences, (K, at most DIRECTIONS)."""
    centred = kinds - kinds.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    along: Floats = centred @ directions[:, ::-1][:, :DIRECTIONS]
    return along
