"""Find the step size of linear functions of integers."""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.language.matrices import Matrix, csr
from libs.assignment.model.affine import Affine
from libs.assignment.model.assembly import Assembly

UNKNOWN = 1e-4
"""Without a known step size, a positive value is assumed to be at least this: ten times the rounding of solvers."""
WHOLE = 1e-12
"""Relative tolerance for whole multiples, for rounding in floats. 1 beside a thousand million is no multiple of
that.
"""


def grain(a: Assembly, x: Affine, some: Ints) -> Floats:
    """Return the least positive value of each element, (some,); see `multiples`.

    The least positive value of a sum of integers with positive coefficients and no constant is its smallest
    coefficient. If all terms are multiples of one number, it is the remainder of the constant by that number. If there
    is no remainder, it is that number. Nothing is known of other sums: UNKNOWN times their smallest number is assumed.
    """
    smallest, over, whole = _multiples(a, x, some)
    rows = _rows(x, some)
    element = np.repeat(np.arange(len(some)), np.diff(rows.indptr))
    bad = np.bincount(element[(rows.data <= 0) | ~a.whole[rows.indices]], minlength=len(some))
    constant = np.abs(x.constant[some])
    unknown = UNKNOWN * np.where(constant > WHOLE * smallest, np.minimum(smallest, constant), smallest)
    adding = (bad == 0) & (x.constant[some] == 0)
    return np.where(whole & (over > 0), over, np.where(whole | adding, smallest, unknown))


def multiples(a: Assembly, x: Affine, some: Ints) -> tuple[Floats, Bools]:
    """Return the smallest coefficient of each element, (some,), and whether all its terms are integer multiples of
    it.
    """
    smallest, over, whole = _multiples(a, x, some)
    return smallest, whole & (over == 0)


def _rows(x: Affine, some: Ints) -> Matrix:
    """Return the rows without coefficients of 0, which products that underflowed leave."""
    rows = csr(x.matrix)[some]
    rows.eliminate_zeros()
    return rows


def _multiples(a: Assembly, x: Affine, some: Ints) -> tuple[Floats, Floats, Bools]:
    """Return the smallest coefficient of each element, (some,), and the remainder of the constant by it.

    The third array tells whether all that columns add are integer multiples of the coefficient.
    """
    rows = _rows(x, some)
    element = np.repeat(np.arange(len(some)), np.diff(rows.indptr))
    smallest = np.full(len(some), np.inf)
    np.minimum.at(smallest, element, np.abs(rows.data))
    smallest = np.where(np.isfinite(smallest), smallest, 1.0)
    times = rows.data / smallest[element]
    bad = (np.abs(times - np.rint(times)) > WHOLE * np.maximum(1.0, np.abs(times))) | ~a.whole[rows.indices]
    whole: Bools = np.bincount(element[bad], minlength=len(some)) == 0
    fixed = x.constant[some] / smallest
    none = np.abs(fixed - np.rint(fixed)) <= WHOLE * np.maximum(1.0, np.abs(fixed))
    return smallest, np.where(none, 0.0, np.mod(x.constant[some], smallest)), whole
