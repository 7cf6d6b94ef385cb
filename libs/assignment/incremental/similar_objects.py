"""Which objects are alike: those that hardly differ in what is counted of them.

Where room is short, two that change places fit only if each leaves about the room that the other needs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from libs.assignment.graph.stacking import Stack
from libs.assignment.language.arrays import Floats, Ints

NEAREST = 17
"""Kinds that are near one, itself among them."""
DIRECTIONS = 4
"""In which kinds are compared: those in which they differ most. A search for the nearest in many more would have to
look at nearly all.
"""


class Alike(NamedTuple):
    """Kinds of objects of which the same is counted, and which are near.

    of       (N,) the kind of each object; 0 of those that were not compared
    near     (K, min(NEAREST, K)) the kinds nearest to each
    first    (K + 1,) the members of kind k are members[first[k] : first[k + 1]]
    members  the objects compared, by kind
    """

    of: Ints
    near: Ints
    first: Ints
    members: Ints


def alike(stacks: list[Stack], objects: Ints) -> Alike:
    """Compare objects by what the stacks, one or more, count. Each quantity is measured by its mean over them."""
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
    """(K, at most DIRECTIONS) the kinds along the directions in which they differ most."""
    centred = kinds - kinds.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    along: Floats = centred @ directions[:, ::-1][:, :DIRECTIONS]
    return along
