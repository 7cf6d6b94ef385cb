"""Define the programs that a portfolio has solved at once: containers alone, neighbourhoods, and bounds.

The answer of a subproblem depends on its content alone. So any thread, process or machine may solve it, also twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from libs.assignment.language.arrays import Floats, Ints
from libs.mip.highs import Basis
from libs.mip.model import Model


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountSearch:
    """A search for whole counts by branch and bound, from a known point.

    start         (c,) the present values of the columns; the first `counts` of them are counts
    loose         (n,) the rows that may be widened a little, so that an answer that just fits is found
    nodes_max     most nodes of the tree
    absolute_gap  gap at which the tree is good enough
    seed          seed of the solver
    """

    start: Floats
    counts: int
    loose: Ints
    nodes_max: int
    absolute_gap: float
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subproblem:
    """One program: without `search`, only the relaxation of `model` is wanted.

    model   the program, with c columns
    until   time.perf_counter() at which the solve must end; inf: no limit
    search  the search for whole counts
    bounds  whether the search is for a bound of the cost of whole counts, and not for a better point
    points  whether a search for a bound looks for a better point, too
    basis   of a relaxation of the same shape, near which the answer is expected
    """

    model: Model
    until: float
    search: CountSearch | None = None
    bounds: bool = False
    points: bool = False
    basis: Basis | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer:
    """The answer to a subproblem.

    x          (c,) or None  the point found; of a search: None unless it costs less than the start
    price      (n,) or None  the row prices of a relaxation
    basis      of a relaxation that was solved to its end
    gained     the cost that `x` saves against the start of a search; 0 otherwise
    bound      lower bound of the cost of whole counts, if that was asked for; -inf: none
    optimal    whether a relaxation was solved to its end
    timed_out  whether the clock or the caller ended the solve. Then the answer depends on more than the content
    """

    x: Floats | None
    price: Floats | None = None
    basis: Basis | None = None
    gained: float = 0.0
    bound: float = -math.inf
    optimal: bool = False
    timed_out: bool = False


class Pool(Protocol):
    """Solves subproblems at once, in any order and anywhere."""

    def submit(self, one: Subproblem, cancelled: Callable[[], bool] | None = None) -> Future[Answer]:
        """Begin to solve `one`, now or later, and return its future answer.

        cancelled  returns True to end the solve early
        """
