"""Hold one walk of a search: its present assignment and its best one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from libs.assignment.graph.lexicographic import compare
from libs.assignment.incremental.program import Program
from libs.assignment.kernels.sizes import MOVES_MAX
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.errors import BadValues
from libs.assignment.solvers.local.anneal import anneal, sample_changes
from libs.assignment.solvers.local.moves.kinds import NAMES
from libs.assignment.solvers.local.soft_limits import Bent

JOURNAL_MAX = 4096
"""Most moved objects since the last best; with more, all objects are copied."""

Proposer = Callable[[Ints], Ints]
"""The caller's own changes: from the assignment (N,) to (P, 2 k), an object and a container k times, -1 if fewer
move.
"""

NO_PROPOSALS: Ints = np.zeros((0, 2), dtype=np.int64)


class Walk:
    """The state, the best and the random numbers of a walk."""

    def __init__(self, program: Program, assignment: Ints, seed: int) -> None:
        self.program, self.seed = program, seed
        self.state = program.state(assignment)
        self.best = assignment.copy()
        self.best_value: Floats = self.state.part[: program.levels].copy()
        self.tally: Floats = np.zeros((len(NAMES), 3))
        self.spread = 0.0
        self.tries = self.made = self._seeds = 0
        self.proposals = NO_PROPOSALS
        self.bent: Bent | None = None
        self._journal: Ints = np.zeros(min(JOURNAL_MAX, len(assignment)), dtype=np.int64)

    @property
    def assignment(self) -> Ints:
        """Return the present assignment, (N,)."""
        return self.state.whole[: len(self.best)]

    @property
    def value(self) -> Floats:
        """Return the value of the present assignment, (levels,)."""
        return self.state.part[: self.program.levels]

    def anneal(self, level: int, hot: float, cold: float, tries: int, tolerance: Floats, mix: Floats) -> None:
        """Try a number of changes while the temperature falls."""
        self.tally[:] = 0.0
        spread = np.zeros(1)
        anneal(
            self.program.tables,
            self.state,
            level,
            hot,
            cold,
            tries,
            self.next_seed(),
            tolerance,
            mix,
            self.proposals,
            self._journal,
            self.best,
            self.best_value,
            self.tally,
            spread,
        )
        self.spread = float(spread[0])
        self.tries += tries
        self.made += int(self.tally[:, 1].sum())

    def sample(self, level: int, size: int, tries: int, least: float, mix: Floats) -> Floats:
        """Return the costs of at most `size` random allowed worsening changes of a level."""
        found = np.zeros(size)
        count = sample_changes(
            self.program.tables, self.state, level, found, tries, self.next_seed(), least, mix, self.proposals
        )
        return found[:count]

    def propose(self, proposer: Proposer) -> None:
        """Ask the caller for changes of the present assignment."""
        self.proposals = checked_proposals(proposer(self.assignment.copy()), self.program)

    def recompute(self) -> None:
        """Compute the state in full, so that rounding errors do not add up."""
        self.state = self.program.state(self.assignment.copy())

    def keep(self, tolerance: Floats) -> None:
        """Keep the present assignment as the best if it is no worse."""
        if compare(self.value, self.best_value, tolerance) <= 0:
            self.best[:], self.best_value[:] = self.assignment, self.value

    def go_to(self, assignment: Ints) -> None:
        """Start from another assignment; the best so far stays."""
        self.state = self.program.state(assignment.copy())

    def begin_at(self, assignment: Ints) -> None:
        """Start from an assignment as the best so far, computed in full and with hard limits."""
        self.bent = None
        self.best = assignment.copy()
        self.go_to(assignment)
        self.best_value = self.value.copy()

    def next_seed(self) -> int:
        """Return another seed for each call of a kernel."""
        self._seeds += 1
        return (self.seed * 1_000_003 + self._seeds) % 2**32


def checked_proposals(proposals: Ints, program: Program) -> Ints:
    """Return valid proposals, which kernels use without checks. Raises BadValues for others."""
    found = np.ascontiguousarray(proposals, dtype=np.int64)
    if found.ndim != 2 or found.shape[1] % 2 or not 0 < found.shape[1] <= 2 * MOVES_MAX:
        raise BadValues(f"proposals: shape {found.shape}; expected (P, 2 k) with k from 1 to {MOVES_MAX}")
    objects, containers = found[:, 0::2], found[:, 1::2]
    if (objects >= len(program.problem.objects)).any() or (containers >= len(program.problem.containers)).any():
        raise BadValues("proposals: an object or a container does not exist; expected indices below their numbers")
    if ((objects >= 0) & (containers < 0)).any():
        raise BadValues("proposals: an object has no container; give -1 for both or for none")
    ordered = np.sort(objects, axis=1)
    if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any():
        raise BadValues("proposals: an object occurs twice in one change; give it once")
    return found
