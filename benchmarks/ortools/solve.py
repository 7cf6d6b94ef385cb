"""Run CP-SAT on a mixed-integer model from a file, in the environment that `setup` makes.

CP-SAT knows only whole numbers. Continuous columns count in units of 1/UNIT. Rows are multiplied until their
coefficients are whole, or rounded if no small factor does that.
"""

from __future__ import annotations

import sys

import numpy as np
from ortools.sat.python import cp_model

UNIT = 1000
"""Integer steps per unit of a continuous column."""
FACTORS = (1, 2, 4, 5, 10, 20, 50, 100, 1000, 10_000)
LARGE = 10**12


def whole(coefficients: np.ndarray) -> int:
    """Return the least factor that makes the coefficients whole; the largest allowed one if none does."""
    for factor in FACTORS:
        scaled = coefficients * factor
        if np.abs(scaled - np.rint(scaled)).max(initial=0.0) < 1e-6:
            return factor
    return FACTORS[-1]


def main(asked: str, answered: str, time_s: float, seed: int) -> None:
    """Read, state, solve and write."""
    m = np.load(asked)
    unit = np.where(m["integer"], 1, UNIT)
    model = cp_model.CpModel()
    low = np.floor(np.clip(m["lower"] * unit, -LARGE, LARGE)).astype(int)
    high = np.ceil(np.clip(m["upper"] * unit, -LARGE, LARGE)).astype(int)
    columns = [model.new_int_var(int(a), int(b), "") for a, b in zip(low, high, strict=True)]
    start = m["start"]
    for row in range(len(start) - 1):
        which = m["column"][start[row] : start[row + 1]]
        by = m["value"][start[row] : start[row + 1]] / unit[which]
        factor = whole(by)
        scaled = np.rint(by * factor).astype(int).tolist()
        terms = cp_model.LinearExpr.weighted_sum([columns[k] for k in which], scaled)
        a, b = m["row_lower"][row] * factor, m["row_upper"][row] * factor
        bottom = int(np.ceil(a - 1e-6)) if np.isfinite(a) else -(2**62)
        top = int(np.floor(b + 1e-6)) if np.isfinite(b) else 2**62
        model.add_linear_constraint(terms, bottom, top)
    cost = m["cost"] / unit
    factor = whole(cost)
    model.minimize(cp_model.LinearExpr.weighted_sum(columns, np.rint(cost * factor).astype(int).tolist()))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = time_s
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    status = solver.solve(model)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    x = np.array([solver.value(one) for one in columns]) / unit if found else np.zeros(0)
    np.savez(answered, x=x, proven=status == cp_model.OPTIMAL)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
