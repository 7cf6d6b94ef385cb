"""List every solver by name. All have the same call: solve(problem, limits, seed=…) -> Outcome."""

from __future__ import annotations

from collections.abc import Callable

from libs.assignment.language.errors import UnknownName
from libs.assignment.solvers.auto import solve_auto
from libs.assignment.solvers.local.solver import solve_local
from libs.assignment.solvers.mip import solve_mip
from libs.assignment.solvers.partitioned.solver import solve_partitioned
from libs.assignment.solvers.portfolio.solver import solve_portfolio
from libs.assignment.solvers.price.solver import solve_price
from libs.assignment.solvers.result import Outcome

SOLVERS: dict[str, Callable[..., Outcome]] = {
    "auto": solve_auto,
    "local": solve_local,
    "mip": solve_mip,
    "partitioned": solve_partitioned,
    "portfolio": solve_portfolio,
    "price": solve_price,
}


def solver_named(name: str) -> Callable[..., Outcome]:
    """Return the solver of a name. Raises UnknownName with the nearest name."""
    if name not in SOLVERS:
        raise UnknownName("solvers", "solver", str(name), SOLVERS)
    return SOLVERS[name]
