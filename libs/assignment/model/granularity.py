"""Of what a linear function of integers is a multiple."""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.language.matrices import csr
from libs.assignment.model.affine import Affine
from libs.assignment.model.assembly import Assembly

UNKNOWN = 1e-4
"""Where nothing is known a positive value is taken to be at least this: ten times what solvers round to."""
WHOLE = 1e-9
"""How far from whole a multiple may be: floats."""


def grain(a: Assembly, x: Affine, some: Ints) -> Floats:
    """(some,) the least value above 0 that each element can have; see `multiples` and below.

    A sum of integers with positive coefficients and no constant is at least the smallest of these where it is positive;
    where all terms are multiples of one number, that. Of others nothing is known: UNKNOWN times the smallest.
    """
    smallest, whole = multiples(a, x, some)
    rows = csr(x.matrix)[some]
    element = np.repeat(np.arange(len(some)), np.diff(rows.indptr))
    bad = np.bincount(element[(rows.data <= 0) | ~a.whole[rows.indices]], minlength=len(some))
    return np.where(whole | ((bad == 0) & (x.constant[some] == 0)), smallest, UNKNOWN * smallest)


def multiples(a: Assembly, x: Affine, some: Ints) -> tuple[Floats, Bools]:
    """(some,) the smallest coefficient of each element, and whether all its terms are integer multiples of it."""
    rows = csr(x.matrix)[some]
    element = np.repeat(np.arange(len(some)), np.diff(rows.indptr))
    smallest = np.full(len(some), np.inf)
    np.minimum.at(smallest, element, np.abs(rows.data))
    smallest = np.where(np.isfinite(smallest), smallest, 1.0)
    times = rows.data / smallest[element]
    bad = (np.abs(times - np.rint(times)) > WHOLE * np.maximum(1.0, np.abs(times))) | ~a.whole[rows.indices]
    fixed = x.constant[some] / smallest
    whole = np.abs(fixed - np.rint(fixed)) <= WHOLE * np.maximum(1.0, np.abs(fixed))
    whole &= np.bincount(element[bad], minlength=len(some)) == 0
    return smallest, whole
