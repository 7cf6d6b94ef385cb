"""List every solver by name. All have the same call: solve(problem, limits, seed=…) -> Outcome."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from libs.assignment.language.errors import UnknownName
from libs.assignment.solvers.result import Outcome

SOLVERS = {
    "auto": "auto",
    "local": "local.solver",
    "mip": "mip",
    "partitioned": "partitioned.solver",
    "portfolio": "portfolio.solver",
    "price": "price.solver",
}
"""Name of a solver -> its module. A module is imported at its first use, because its kernels take long to load."""
_KERNELS = {"portfolio": "portfolio.steps.descent"}
"""Name of a solver -> the module with its kernels, if it imports them only while a relaxation goes on."""


def solver_named(name: str) -> Callable[..., Outcome]:
    """Return the solver of a name. Raises UnknownName with the nearest name."""
    if name not in SOLVERS:
        raise UnknownName("solvers", "solver", str(name), SOLVERS)
    module = import_module(f"libs.assignment.solvers.{SOLVERS[name]}")
    return cast(Callable[..., Outcome], getattr(module, f"solve_{name}"))


def load_solver(name: str) -> None:
    """Import a solver and its kernels now, so that its first use need not wait for them. Raises UnknownName."""
    solver_named(name)
    if name in _KERNELS:
        import_module(f"libs.assignment.solvers.{_KERNELS[name]}")
