"""Choose the relaxation for which there is time: the whole, parts of it, or a step from container to container.

The expected time follows from the time to evaluate one change of counts, which is measured while mending. So the choice
follows the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from libs.assignment.language.arrays import Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.beside import Beside
from libs.assignment.solvers.portfolio.containers_of import Shares
from libs.assignment.solvers.portfolio.relaxation import Relaxation, relax
from libs.assignment.solvers.portfolio.relaxation_by_container import is_enough, is_little_changed, relax_by_container
from libs.assignment.solvers.portfolio.relaxation_in_parts import in_parts, relax_in_parts
from libs.assignment.solvers.portfolio.subproblem import Pool
from libs.assignment.solvers.portfolio.unpaid import penalties, unpaid
from libs.assignment.solvers.portfolio.watch import Watch
from libs.mip.model import Model

RELAXATION_SHARE = 0.7
"""Share of the time left for a relaxation. After that the search continues without its prices."""
PARTS_SHARE = 0.6
"""Share of the time left for the relaxation in parts. Parts that are not solved by then are left out. A relaxation that
is expected to take more does not begin.
"""
PARTS_CHANGES = 120
"""Number of changes that steps evaluate in the time of a round of parts, for each count."""
STEP_CHANGES = 25
"""Number of changes that steps evaluate in the time of a step from container to container, for each count."""
PAID_FEW = 0.05
"""Share of the penalties. If mended counts pay no more than that, fractions are likely to avoid them all."""


@contextmanager
def begun_ahead(
    lowered: Lowered, model: Model, shares: Shares, watch: Watch, cancelled: Callable[[], bool] | None
) -> Iterator[Beside[Relaxation] | None]:
    """Begin the whole relaxation of `model`, and yield it, while steps mend the counts that it is for.

    The guess is that fractions pay no penalty, so all are left out, and put back if they are missed. It ends if the
    mended counts pay many, or need no whole relaxation. Yield None if the model is relaxed in parts: these begin at the
    mended counts.
    """
    if shares.separates(model) and in_parts(lowered, model, shares) > 1:
        yield None
        return
    limit_s = RELAXATION_SHARE * watch.time_left()

    def whole(ends: Callable[[], bool]) -> Relaxation:
        return relax(lowered, model, limit_s, left_out=penalties(model), cancelled=ends)

    with Beside(whole, cancelled) as ahead:
        yield ahead


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Relaxing:
    """One model to relax, and the time for it.

    model      a model with the columns and rows of `lowered.model`
    begin      (Q,) the mended counts. A part that is not solved in time keeps them
    change_s   seconds to evaluate one change of counts; 0: not known, and no relaxation is expected to take too long
    cancelled  returns True to end the solve
    ahead      the whole relaxation without any penalty, which has begun already; None: it has not
    """

    lowered: Lowered
    model: Model
    shares: Shares
    begin: Ints
    change_s: float
    watch: Watch
    pool: Pool
    seed: int
    cancelled: Callable[[], bool] | None
    ahead: Beside[Relaxation] | None = None

    def run(self) -> Relaxation:
        """Return the best relaxation for which there is time.

        A step from container to container may be enough if little has changed. It replaces a whole relaxation that is
        not solved in time, and raises the bound of parts. If a round of parts would take too long, the step is all, and
        if the step would, nothing is relaxed: steps on counts gain more.
        """
        if not self.shares.separates(self.model):
            return self.whole()
        parts = in_parts(self.lowered, self.model, self.shares)
        if parts > 1 and self._is_late(STEP_CHANGES):
            return Relaxation.unknown(self.lowered)
        step = self._step() if parts > 1 or is_little_changed(self.lowered, self.begin) else None
        if step is not None and self._is_enough(step):
            return step
        if step is not None and parts > 1:
            return step if self._is_late(PARTS_CHANGES) else self._in_parts(parts).bounded_by(step)
        found = self.whole()
        if not found.timed_out:
            return found
        self.watch.note(timed_out=True)
        return max(found, step or self._step(), key=lambda one: one.bound)

    def whole(self) -> Relaxation:
        """Return the relaxation of the whole model, or what the time allows of it."""
        penalty = penalties(self.model)
        left_out = unpaid(self.model, penalty, self.lowered.point_of(self.begin))
        if self.ahead is not None:
            if (penalty & ~left_out).sum() <= PAID_FEW * penalty.sum():
                return self.ahead.result()
            self.ahead.end()
        limit_s = RELAXATION_SHARE * self.watch.time_left()
        return relax(self.lowered, self.model, limit_s, left_out=left_out, cancelled=self.cancelled)

    def _step(self) -> Relaxation:
        found = relax_by_container(
            self.lowered,
            self.model,
            self.shares,
            RELAXATION_SHARE * self.watch.time_left(),
            begin=self.begin,
            pool=self.pool,
            cancelled=self.cancelled,
        )
        self.watch.note(timed_out=found.timed_out)
        return found

    def _is_enough(self, step: Relaxation) -> bool:
        limit_s = RELAXATION_SHARE * self.watch.time_left()
        enough, timed_out = is_enough(
            self.lowered,
            self.model,
            self.shares,
            step,
            self.begin,
            limit_s,
            pool=self.pool,
            cancelled=self.cancelled,
        )
        self.watch.note(timed_out=timed_out)
        return enough

    def _in_parts(self, parts: int) -> Relaxation:
        return relax_in_parts(
            self.lowered,
            self.model,
            self.shares,
            PARTS_SHARE * self.watch.time_left(),
            parts=parts,
            begin=self.begin,
            pool=self.pool,
            seed=self.seed,
            cancelled=self.cancelled,
        )

    def _is_late(self, changes: int) -> bool:
        """Return whether a relaxation that takes the time of so many changes per count would take too long.

        If so, note it, because the answer then depends on the clock.
        """
        late = PARTS_SHARE * self.watch.time_left() < changes * len(self.begin) * self.change_s
        self.watch.note(timed_out=late)
        return late
