"""HiGHS behind arrays: the only file that imports highspy.

Every run is single-threaded. HiGHS keeps one scheduler per process, which cannot be resized while a run is active, and
the linear-programming methods used here are serial anyway. `run()` releases the GIL, so solve several models at once
from several Python threads instead. Never fork a process that has solved: the child would hang.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import highspy
import numpy as np

from libs.domain.arrays import Bytes, Floats
from libs.mip.bound import bound_from_prices
from libs.mip.model import Model
from libs.mip.scaling import Scaling, scaled

Method = Literal["ipm", "pdlp", "simplex"]
Progress = Callable[[float, float, float], None]
"""A callback that takes the incumbent's objective, the bound and the gap. Each is inf while it is unknown."""
Improved = Callable[[Floats], None]
"""A callback that takes each better point (C,), before the report of its objective."""
Cancelled = Callable[[], bool]
Part = Literal["rens", "rins", "root_reduced_cost"]
"""A heuristic that solves a program of a part of the columns.

rens               those that are not whole in the relaxation
rins               those in which the best point differs from the relaxation
root_reduced_cost  those of small reduced costs at the root
"""
PARTS: tuple[Part, ...] = ("rens", "rins", "root_reduced_cost")
"""All of them."""


_PASSED_OVER = ("mip_feasibility_tolerance", "small_matrix_value")
_STATUSES = {int(one): one for one in highspy.HighsBasisStatus.__members__.values()}
_BASIC = int(highspy.HighsBasisStatus.kBasic)
SEEDS = 2**31
"""The number of seeds that HiGHS accepts. Larger ones are taken modulo it."""
FINE = 1e-10
"""The least tolerance that HiGHS accepts. Use it to solve again if an answer did not meet the default tolerance."""


class SolverError(RuntimeError):
    """HiGHS refused a model or an option. The cause is a defect of this code, never of the input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits at which a run stops. Times depend on the machine; counts of nodes and iterations do not."""

    time_s_max: float = math.inf
    nodes_max: int | None = None
    stall_nodes_max: int | None = None
    improving_solutions_max: int | None = None
    iterations_max: int | None = None
    relative_gap: float = 1e-4
    absolute_gap: float = 1e-6


NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Basis:
    """A simplex basis. A simplex run on a model of the same shape can start from it."""

    _inner: Any

    @classmethod
    def of(cls, columns: Bytes, rows: Bytes) -> Basis:
        """Return the basis of the `statuses` given. Raises ValueError unless there is a basic one for each row."""
        inner: Any = highspy.HighsBasis()
        inner.valid = True
        inner.col_status, inner.row_status = ([_STATUSES[k] for k in some] for some in (columns, rows))
        if (columns == _BASIC).sum() + (rows == _BASIC).sum() != len(rows):
            raise ValueError("the basis does not fit its rows")
        return cls(inner)

    @property
    def statuses(self) -> tuple[Bytes, Bytes]:
        """The statuses of all columns (C,) and rows (N,), as HiGHS numbers them."""
        columns, rows = (
            np.array([int(one) for one in some], np.int8) for some in (self._inner.col_status, self._inner.row_status)
        )
        return columns, rows

    def extended(self, rows: int) -> Basis:
        """Return the basis for the same model with `rows` more rows at its end."""
        inner: Any = highspy.HighsBasis()
        inner.valid, inner.col_status = True, self._inner.col_status
        inner.row_status = [*self._inner.row_status, *[highspy.HighsBasisStatus.kBasic] * rows]
        return Basis(inner)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solution:
    """The result of a run.

    x          (C,) or None  the best point; None if the run found none
    price      (N,) or None  row prices of a linear program: the cost of one more unit of the row's bound
    objective  cost of x; inf if there is no x
    bound      no point costs less. Linear: from the prices alone, see bound_from_prices. Integer: the tree's bound
    optimal    proven within the gap asked for
    limited    a limit or the caller stopped the run
    timed_out  the time limit or the caller stopped the run
    basis      basis of a linear program that ended in a vertex, else None
    """

    x: Floats | None
    price: Floats | None
    objective: float
    bound: float
    optimal: bool
    infeasible: bool
    limited: bool
    timed_out: bool
    status: str
    nodes: int
    solve_s: float
    basis: Basis | None = None


def solve_lp(
    model: Model,
    method: Method = "ipm",
    limits: Limits = NO_LIMITS,
    *,
    vertex: bool = False,
    start: Basis | None = None,
    tolerance: float | None = None,
    presolve: bool = True,
    cancelled: Cancelled | None = None,
) -> Solution:
    """Solve the relaxation of a model: integrality is ignored.

    method     ipm, pdlp or simplex. If `start` is given, simplex is used in any case
    start      basis of a model of the same shape; simplex continues from it
    tolerance  of rows, prices and the gap between both objectives. None: HiGHS's own
    presolve   reduce the model first

    The method ipm skips crossover unless a vertex is asked for: prices and a central point cost a tenth of a basis. The
    method simplex always ends in a vertex. The method pdlp is the least precise; it is for models whose factorisation
    does not fit into memory.
    """
    scaling = scaled(model)
    highs = _loaded(scaling.model, integer=False)
    _option(highs, "solver", "simplex" if start is not None else method)
    if start is not None and highs.setBasis(start._inner) != highspy.HighsStatus.kOk:
        raise SolverError("HiGHS refused a basis: the model has another shape")
    _option(highs, "run_crossover", "on" if vertex else "off")
    _option(highs, "presolve", "choose" if presolve else "off")
    if tolerance is not None:
        _option(highs, "kkt_tolerance", tolerance)
    if limits.iterations_max is not None:
        for name in ("simplex_iteration_limit", "ipm_iteration_limit", "pdlp_iteration_limit"):
            _option(highs, name, limits.iterations_max)
    return _run(highs, model, scaling, limits, None, cancelled)


def solve_mip(
    model: Model,
    limits: Limits = NO_LIMITS,
    *,
    start: Floats | None = None,
    seed: int = 0,
    restarts: bool = True,
    heuristics: float = 0.05,
    parts: tuple[Part, ...] = PARTS,
    presolve: bool = True,
    symmetry: bool = True,
    strong_branching: bool = True,
    tolerance: float | None = None,
    progress: Progress | None = None,
    improved: Improved | None = None,
    cancelled: Cancelled | None = None,
) -> Solution:
    """Solve a mixed-integer model by branch and bound.

    start       (C,) a point to begin from; nan: unknown value. The answer is never worse than a feasible start
    restarts    whether to presolve again once enough columns are fixed. This pays in long searches only
    heuristics  share of the effort spent on better points rather than on bounds. At 0, no program of a part is solved
                for a point either, as HiGHS would do once at the root. A tree of 200 columns that is wanted for its
                bound took half of its time for them
    parts       the programs of a part of the columns that are among these efforts. They take most of them
    presolve    reduce the model first
    symmetry    look for columns that may change places, so that the tree tries one of them only
    strong_branching  solve both sides of many columns before a branch, until enough is known of them. The tree has
                fewer nodes for it
    tolerance   largest violation of rows, integrality and prices. None: HiGHS's own, 1e-6 and 1e-7
    """
    scaling = scaled(model)
    highs = _loaded(scaling.model, integer=True)
    _option(highs, "mip_rel_gap", limits.relative_gap)
    _option(highs, "mip_abs_gap", limits.absolute_gap * scaling.objective)
    _option(highs, "mip_heuristic_effort", heuristics)
    for part in PARTS:
        _option(highs, f"mip_heuristic_run_{part}", heuristics > 0 and part in parts)
    _option(highs, "random_seed", seed % SEEDS)
    _option(highs, "mip_allow_restart", restarts)
    _option(highs, "presolve", "choose" if presolve else "off")
    _option(highs, "mip_detect_symmetry", symmetry)
    if not strong_branching:
        _option(highs, "mip_pscost_minreliable", 0)
    if tolerance is not None:
        for name in ("mip_feasibility_tolerance", "primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            _option(highs, name, tolerance)
    for name, value in (
        ("mip_max_nodes", limits.nodes_max),
        ("mip_max_stall_nodes", limits.stall_nodes_max),
        ("mip_max_improving_sols", limits.improving_solutions_max),
    ):
        if value is not None:
            _option(highs, name, value)
    if start is not None:
        _option(highs, "mip_heuristic_run_feasibility_jump", False)  # the start is already a point
        known = np.flatnonzero(~np.isnan(start)).astype(np.int32)
        highs.setSolution(len(known), known, (start / scaling.column)[known])
    return _run(highs, model, scaling, limits, progress, cancelled, improved)


def _loaded(model: Model, *, integer: bool) -> Any:
    if not (np.isfinite(model.cost).all() and np.isfinite(model.matrix.data).all()):
        raise SolverError("a cost or a coefficient is not finite")  # HiGHS would accept nan and answer nan
    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in (("output_flag", False), ("threads", 1), ("parallel", "off")):
        _option(highs, name, value)
    matrix = model.matrix
    kinds = model.integer.astype(np.int32) if integer else np.zeros(len(model.cost), np.int32)
    sizes = len(model.cost), len(model.row_lower), matrix.nnz
    form = int(highspy.MatrixFormat.kColwise), int(highspy.ObjSense.kMinimize), model.offset
    bounds = model.cost, model.lower, model.upper, model.row_lower, model.row_upper
    entries = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data
    status = highs.passModel(*sizes, *form, *bounds, *entries, kinds)
    if status == highspy.HighsStatus.kError:
        raise SolverError("HiGHS refused the model")
    return highs


def _option(highs: Any, name: str, value: object) -> None:
    if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
        raise SolverError(f"HiGHS refused {name} = {value!r}")


def _run(
    highs: Any,
    model: Model,
    scaling: Scaling,
    limits: Limits,
    progress: Progress | None,
    cancelled: Cancelled | None,
    improved: Improved | None = None,
) -> Solution:
    if math.isfinite(limits.time_s_max):
        _option(highs, "time_limit", max(limits.time_s_max, 0.0))
    failed = _listen(highs, scaling, progress, cancelled, improved)
    started = time.perf_counter()
    highs.run()
    solve_s = time.perf_counter() - started
    highs.clearCallbacks()
    if failed:
        raise failed[0]
    status, info, found = highs.getModelStatus(), highs.getInfo(), highs.getSolution()
    states = highspy.HighsModelStatus
    infeasible = status in (states.kInfeasible, states.kUnboundedOrInfeasible)
    timed_out = status in (states.kTimeLimit, states.kInterrupt)
    limited = timed_out or status in (states.kIterationLimit, states.kSolutionLimit)
    integer = info.mip_node_count >= 0
    empty = status == states.kModelEmpty
    known = empty or (found.value_valid and len(found.col_value) == len(model.cost))
    x = np.array(found.col_value) * scaling.column if known else None
    priced = not integer and len(found.row_dual) == len(model.row_lower)
    price = np.array(found.row_dual) * scaling.row / scaling.objective if priced else None
    if integer:
        bound = float(info.mip_dual_bound) / scaling.objective - scaling.hidden - _pruned(highs, scaling)
    else:
        bound = bound_from_prices(model, price) if price is not None else -math.inf
    return Solution(
        x=x,
        price=price,
        objective=model.objective(x) if x is not None else math.inf,
        bound=bound,
        optimal=empty or status == states.kOptimal,
        infeasible=infeasible,
        limited=limited,
        timed_out=timed_out,
        status=highs.modelStatusToString(status),
        nodes=max(int(info.mip_node_count), 0),
        solve_s=solve_s,
        basis=Basis(highs.getBasis()) if not integer and highs.getBasis().valid else None,
    )


def _pruned(highs: Any, scaling: Scaling) -> float:
    """Return the largest gain that HiGHS passes over, in the objective's own unit.

    It prunes nodes whose bound is better than the best answer by less than its tolerance of rows, and rounds to its
    smallest number. A model whose objective was scaled down hides whole steps below these.
    """
    if scaling.objective >= 1.0:
        return 0.0
    return max(float(highs.getOptionValue(name)[1]) for name in _PASSED_OVER) / scaling.objective


def _listen(
    highs: Any, scaling: Scaling, progress: Progress | None, cancelled: Cancelled | None, improved: Improved | None
) -> list[BaseException]:
    """Subscribe to the events that the caller asked for. Each callback takes the GIL, so subscribe to no others.

    Return a list for the errors of the caller's functions, because interior point catches them all. After one, a run
    that can be cancelled ends.
    """
    failed: list[BaseException] = []

    def subscribe(kind: Any, call: Callable[[Any], None]) -> None:
        def guarded(event: Any) -> None:
            try:
                call(event)
            except BaseException as error:
                failed.append(error)
                raise

        kind.subscribe(guarded)

    if cancelled is not None:

        def stop(event: Any) -> None:
            if failed or cancelled():
                event.interrupt()

        for interrupt in (highs.cbMipInterrupt, highs.cbSimplexInterrupt, highs.cbIpmInterrupt):
            subscribe(interrupt, stop)
    if improved is not None:

        def show(event: Any) -> None:
            improved(np.array(event.data_out.mip_solution) * scaling.column)

        subscribe(highs.cbMipImprovingSolution, show)
    if progress is not None:

        def report(event: Any) -> None:
            out = event.data_out
            unit = scaling.objective
            progress(float(out.mip_primal_bound) / unit, float(out.mip_dual_bound) / unit, float(out.mip_gap))

        subscribe(highs.cbMipImprovingSolution, report)
        subscribe(highs.cbMipLogging, report)
    return failed
