"""Find the wanted direction of each cell. A maximum of which only small values are wanted needs no binaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from libs.assignment.graph.cell import Leaf
from libs.assignment.graph.compiled import Compiled
from libs.assignment.language.matrices import Matrix


@dataclass(slots=True)
class Want:
    """A wanted direction. `small`: the objective may improve if an element falls; `large`: if one rises. Both
    may hold.
    """

    small: bool = False
    large: bool = False

    def add(self, other: Want, signs: tuple[bool, bool]) -> None:
        """Add the directions that `other` wants of its argument. `signs` tells whether this cell has positive and
        negative coefficients in it.
        """
        positive, negative = signs
        self.small |= (other.small and positive) or (other.large and negative)
        self.large |= (other.large and positive) or (other.small and negative)


def wants(compiled: Compiled) -> tuple[Want, ...]:
    """Return the wanted directions of every cell. Functions are nondecreasing, so they hold for the argument and the
    value.
    """
    cells = compiled.graph.cells
    found = [Want(small=cell.hard) for cell in cells]
    for total in compiled.totals:
        found[total.cell].small |= total.weight > 0
        found[total.cell].large |= total.weight < 0
    for n in reversed(range(len(cells))):
        for link in cells[n].links:
            found[link.source].add(found[n], _signs(link.coefficient, (link.rows, link.columns)))
    return tuple(found)


def leaf_signs(leaf: Leaf) -> tuple[bool, bool]:
    """Return whether a leaf has positive coefficients, and whether it has negative ones."""
    signs = _signs(1.0, (leaf.rows, leaf.columns))
    signs = _product(signs, (bool((leaf.values > 0).any()), bool((leaf.values < 0).any())))
    if leaf.factor is not None:
        signs = _product(signs, (bool((leaf.factor.table > 0).any()), bool((leaf.factor.table < 0).any())))
    return signs


def _signs(coefficient: float, maps: Sequence[Matrix | None]) -> tuple[bool, bool]:
    signs = (coefficient > 0, coefficient < 0)
    for each in maps:
        if each is not None:
            signs = _product(signs, (bool(np.any(each.data > 0)), bool(np.any(each.data < 0))))
    return signs


def _product(one: tuple[bool, bool], other: tuple[bool, bool]) -> tuple[bool, bool]:
    (p, n), (q, m) = one, other
    return (p and q) or (n and m), (p and m) or (n and q)
