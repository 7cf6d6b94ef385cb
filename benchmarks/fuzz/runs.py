"""How each solver is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from libs.assignment.arrays import Ints
from libs.assignment.partitioning.deal import Deal
from libs.assignment.portfolio.limits import PortfolioLimits
from libs.assignment.problem import Problem
from libs.assignment.solvers.auto import solve_auto
from libs.assignment.solvers.limits import MipLimits, SearchLimits
from libs.assignment.solvers.local import solve_local
from libs.assignment.solvers.mip import solve_mip
from libs.assignment.solvers.partitioned import Partitioning, solve_partitioned
from libs.assignment.solvers.portfolio import solve_portfolio
from libs.assignment.solvers.price import solve_price
from libs.assignment.solvers.result import Result

TRIES = 600


def drawn_start(objects: int, containers: int, seed: int) -> Ints:
    """(N,) any assignment, be it legal or not."""
    return np.random.default_rng([seed, objects]).integers(containers, size=objects)


@dataclass(frozen=True, kw_only=True)
class Run:
    """One way of calling a solver.

    cut    a limit keeps it from coming to its end, so that it need not be as good as it can be
    begun  it is given a start, drawn with the seed
    """

    solver: str
    solve: Callable[..., Result]
    limits: Any = None
    options: dict[str, Any] = field(default_factory=dict)
    cut: bool = False
    timed: bool = False
    begun: bool = False

    @property
    def splits(self) -> bool:
        """Whether it asks for containers to be split."""
        return bool("options" in self.options and self.options["options"].split)

    def of(self, problem: Problem, seed: int) -> Result:
        """Its answer."""
        more: dict[str, Any] = dict(self.options)
        if self.begun:
            more["start"] = drawn_start(len(problem.objects), len(problem.containers), seed)
        return self.solve(problem, self.limits, seed=seed, **more)

    def text(self, write: Callable[[Any], str], problem: str, seed: int) -> str:
        """The call as Python."""
        more = [f"{name}={write(value)}" for name, value in self.options.items()]
        if self.begun:
            more.append(f"start={write(drawn_start)}(len({problem}.objects), len({problem}.containers), {seed})")
        more += [f"seed={seed}"] if seed else []
        limits = [] if self.limits is None else [write(self.limits)]
        return f"{write(self.solve)}({', '.join([problem, *limits, *more])})"


PLAIN = (
    Run(solver="auto", solve=solve_auto, limits=SearchLimits(tries_max=TRIES)),
    Run(solver="price", solve=solve_price),
    Run(solver="mip", solve=solve_mip),
    Run(solver="portfolio", solve=solve_portfolio),
    Run(solver="local", solve=solve_local, limits=SearchLimits(tries_max=TRIES)),
    Run(
        solver="partitioned",
        solve=solve_partitioned,
        limits=SearchLimits(tries_max=TRIES),
        options={"options": Partitioning(parts=2, insist=True)},
    ),
)
"""Every solver as it is meant to be called."""
ODD = (
    Run(solver="auto", solve=solve_auto, limits=SearchLimits(tries_max=1), cut=True),
    Run(solver="auto", solve=solve_auto, limits=SearchLimits(time_s_max=1e-3), cut=True, timed=True),
    Run(solver="price", solve=solve_price, limits=SearchLimits(time_s_max=1e-3), cut=True, timed=True),
    Run(solver="mip", solve=solve_mip, limits=MipLimits(nodes_max=0), cut=True),
    Run(solver="mip", solve=solve_mip, limits=MipLimits(relative_gap=0.0)),
    Run(solver="mip", solve=solve_mip, begun=True),
    Run(solver="mip", solve=solve_mip, limits=MipLimits(nodes_max=0), cut=True, begun=True),
    Run(solver="mip", solve=solve_mip, limits=MipLimits(relative_gap=0.5), cut=True),
    Run(solver="mip", solve=solve_mip, limits=MipLimits(time_s_max=1e-3), cut=True, timed=True),
    Run(
        solver="portfolio",
        solve=solve_portfolio,
        limits=PortfolioLimits(exact_columns_max=0, neighbourhoods_max=10),
        cut=True,
    ),
    Run(solver="portfolio", solve=solve_portfolio, limits=PortfolioLimits(time_s_max=1e-3), cut=True, timed=True),
    Run(solver="local", solve=solve_local, limits=SearchLimits(tries_max=1), cut=True),
    Run(solver="local", solve=solve_local, limits=SearchLimits(tries_max=1), cut=True, begun=True),
    Run(solver="local", solve=solve_local, limits=SearchLimits(tries_max=TRIES), begun=True),
    Run(solver="local", solve=solve_local, limits=SearchLimits(tries_max=100, threads=2), cut=True),
    Run(solver="local", solve=solve_local, limits=SearchLimits(time_s_max=1e-3), cut=True, timed=True),
    Run(
        solver="partitioned",
        solve=solve_partitioned,
        limits=SearchLimits(tries_max=1),
        options={"options": Partitioning(parts=3, insist=True, how=Deal.RANDOM)},
        cut=True,
    ),
    Run(
        solver="partitioned",
        solve=solve_partitioned,
        limits=SearchLimits(tries_max=100),
        options={"options": Partitioning(parts=2, insist=True, split=[0], polish=0.0), "solver": solve_mip},
        cut=True,
    ),
)
"""Limits that cut short, gaps, threads and other cuts into parts."""
