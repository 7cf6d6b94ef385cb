"""List the ways to call each solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from libs.assignment import Deal, Limits, Problem, solve
from libs.assignment.language.arrays import Ints
from libs.assignment.solvers.result import Outcome

TRIES = 600


def drawn_start(objects: int, containers: int, seed: int) -> Ints:
    """Return a random assignment (N,), legal or not."""
    return np.random.default_rng([seed, objects]).integers(containers, size=objects)


@dataclass(frozen=True, kw_only=True)
class Run:
    """One way to call a solver.

    cut    True: a limit ends the run early, so its answer need not be the best
    begun  True: the run gets a random start, drawn with the seed
    """

    solver: str
    solve: Callable[..., Outcome] = solve
    limits: Limits | None = None
    options: dict[str, Any] = field(default_factory=dict)
    cut: bool = False
    timed: bool = False
    begun: bool = False

    @property
    def splits(self) -> bool:
        """Return whether the run splits the containers into parts."""
        return self.limits is not None and bool(self.limits.split)

    def of(self, problem: Problem, seed: int) -> Outcome:
        """Solve the problem by this run, and return the result."""
        more: dict[str, Any] = dict(self.options)
        if self.solve is solve:
            more["solver"] = self.solver
        if self.begun:
            more["start"] = drawn_start(len(problem.objects), len(problem.containers), seed)
        return self.solve(problem, self.limits, seed=seed, **more)

    def text(self, write: Callable[[Any], str], problem: str, seed: int) -> str:
        """Return the call as Python."""
        more = [f"solver={self.solver!r}", *(f"{name}={write(value)}" for name, value in self.options.items())]
        if self.begun:
            more.append(f"start={write(drawn_start)}(len({problem}.objects), len({problem}.containers), {seed})")
        more += [f"seed={seed}"] if seed else []
        limits = [] if self.limits is None else [write(self.limits)]
        return f"{write(self.solve)}({', '.join([problem, *limits, *more])})"


PLAIN = (
    Run(solver="auto", limits=Limits(tries_max=TRIES)),
    Run(solver="price"),
    Run(solver="mip"),
    Run(solver="portfolio"),
    Run(solver="local", limits=Limits(tries_max=TRIES)),
    Run(
        solver="partitioned",
        limits=Limits(tries_max=TRIES, parts=2, insist=True),
    ),
)
"""Every solver in its normal use."""
ODD = (
    Run(solver="auto", limits=Limits(tries_max=1), cut=True),
    Run(solver="auto", limits=Limits(time_s_max=1e-3), cut=True, timed=True),
    Run(solver="price", limits=Limits(time_s_max=1e-3), cut=True, timed=True),
    Run(solver="mip", limits=Limits(nodes_max=0), cut=True),
    Run(solver="mip", limits=Limits(relative_gap=0.0)),
    Run(solver="mip", begun=True),
    Run(solver="mip", limits=Limits(nodes_max=0), cut=True, begun=True),
    Run(solver="mip", limits=Limits(relative_gap=0.5), cut=True),
    Run(solver="mip", limits=Limits(time_s_max=1e-3), cut=True, timed=True),
    Run(
        solver="portfolio",
        limits=Limits(exact_columns_max=0, neighbourhoods_max=10),
        cut=True,
    ),
    Run(solver="portfolio", limits=Limits(time_s_max=1e-3), cut=True, timed=True),
    Run(solver="local", limits=Limits(tries_max=1), cut=True),
    Run(solver="local", limits=Limits(tries_max=1), cut=True, begun=True),
    Run(solver="local", limits=Limits(tries_max=TRIES), begun=True),
    Run(solver="local", limits=Limits(tries_max=100, threads=2), cut=True),
    Run(solver="local", limits=Limits(time_s_max=1e-3), cut=True, timed=True),
    Run(
        solver="partitioned",
        limits=Limits(tries_max=1, parts=3, insist=True, deal=Deal.RANDOM),
        cut=True,
    ),
    Run(
        solver="partitioned",
        limits=Limits(tries_max=100, parts=2, insist=True, split=[0], polish=0.0),
        options={"part_solver": "mip"},
        cut=True,
    ),
)
"""Runs with early limits, gaps, threads and other cuts into parts."""
