"""Run other solvers on the model that lowering makes, to measure the value of our phases, starts and prices."""

from __future__ import annotations

import math
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from libs.assignment.incremental.program import compile_problem
from libs.assignment.language.arrays import Floats
from libs.assignment.language.problem import Problem
from libs.assignment.model.lower import lower
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.limits import Limits, StoppedBy
from libs.assignment.solvers.result import Outcome
from libs.mip import highs
from libs.mip.model import Model

BROKEN = 1e3
"""Weight of a unit of excess against a unit of the goals: these solvers have only one objective."""
HERE = Path(__file__).parent / "ortools"


def solve_with_highs(problem: Problem, limits: Limits, *, seed: int = 0) -> Outcome:
    """Solve with plain HiGHS: one model, no start."""
    return _solve(problem, limits, seed, "highs", _highs)


def solve_with_cpsat(problem: Problem, limits: Limits, *, seed: int = 0) -> Outcome:
    """Solve with OR-Tools CP-SAT in an environment of its own, with one worker; see benchmarks/ortools."""
    return _solve(problem, limits, seed, "cpsat", _cpsat)


Found = tuple[Floats | None, float, bool]
"""A point or None, a bound, and whether the point is proven to be the best."""


def _solve(problem: Problem, limits: Limits, seed: int, name: str, run: object) -> Outcome:
    began = time.perf_counter()
    lowered = lower(problem)
    model = _one_objective(lowered)
    build_s = time.perf_counter() - began
    assert callable(run)
    time_s = math.inf if limits.time_s_max is None else limits.time_s_max
    x, bound, proven = run(model, max(time_s - build_s, 1.0), seed)
    assignment = problem.initial
    if x is not None:
        assignment = lowered.assignment(np.rint(x[: len(lowered.kind)]).astype(np.int64), x)
    program = compile_problem(problem)
    first, last = (program.state(one).part[: program.levels] for one in (problem.initial, assignment))
    return Outcome(
        assignment=assignment,
        broken=(float(first[0]), float(last[0])),
        objective=(tuple(map(float, first[1:])), tuple(map(float, last[1:]))),
        improved=x is not None,
        moved=int((assignment != problem.initial).sum()),
        tries=0,
        seed=seed,
        stopped_by=StoppedBy.OPTIMAL if proven else StoppedBy.TIME,
        build_s=build_s,
        solve_s=time.perf_counter() - began,
        timeline=(),
        bound=(0.0, bound) if len(last) == 2 and last[0] == 0 and math.isfinite(bound) else (),
        solver=name,
        notes=() if x is not None else ("no point was found in time",),
    )


def _one_objective(lowered: Lowered) -> Model:
    return lowered.weighted([BROKEN, *(BROKEN**-k for k in range(len(lowered.levels) - 1))])


def _highs(model: Model, time_s: float, seed: int) -> Found:
    found = highs.solve_mip(model, highs.Limits(time_s_max=time_s), seed=seed)
    return found.x, found.bound, found.optimal


def _cpsat(model: Model, time_s: float, seed: int) -> Found:
    python = HERE / ".venv" / "bin" / "python"
    if not python.exists():
        raise FileNotFoundError(f"{python}: run benchmarks/ortools/setup first")
    rows = sp.csr_array(model.matrix)
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder) / "model.npz", Path(folder) / "answer.npz"
        np.savez(
            asked,
            cost=model.cost,
            lower=model.lower,
            upper=model.upper,
            integer=model.integer,
            row_lower=model.row_lower,
            row_upper=model.row_upper,
            start=rows.indptr,
            column=rows.indices,
            value=rows.data,
        )
        command = [str(python), str(HERE / "solve.py"), str(asked), str(answered), str(time_s), str(seed)]
        subprocess.run(command, check=True)
        with np.load(answered) as answer:
            x = answer["x"] if len(answer["x"]) else None
            return x, -math.inf, bool(answer["proven"])  # its bound is for a rounded model
