"""Which objects are alike: those that what is counted of them hardly tells apart."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from libs.assignment.arrays import Ints
from libs.assignment.search.stacking import Stack

NEIGHBOURS = 16
"""Of each object; fewer where there are fewer objects."""


def alike(stacks: list[Stack], objects: int) -> Ints:
    """(N, K) for each object the K nearest others, by what the stacks count of them.

    Each quantity is measured by its mean over the objects: near is what differs by little of what counts much.
    """
    neighbours = min(NEIGHBOURS, objects - 1)
    if not stacks or neighbours < 1:
        return np.zeros((objects, 0), dtype=np.int64)
    values = np.concatenate([stack.values for stack in stacks], axis=1)
    values = values / np.maximum(np.abs(values).mean(axis=0), 1e-12)
    tree = cKDTree(values)
    found = np.asarray(tree.query(values, neighbours + 1)[1], dtype=np.int64)
    others = found != np.arange(objects)[:, None]
    others[others.all(axis=1), -1] = False
    return found[others].reshape(objects, neighbours)
