"""Choose the relaxation for which there is time: the whole, columns for it, or a step from container to container.

The expected time follows from the time to evaluate one change of counts, which is measured while mending. So the choice
follows the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.alone import Alone
from libs.assignment.solvers.portfolio.beside import Beside
from libs.assignment.solvers.portfolio.containers_of import Shares
from libs.assignment.solvers.portfolio.relaxation import Relaxation, relax
from libs.assignment.solvers.portfolio.relaxation_by_columns import is_by_columns, relax_by_columns
from libs.assignment.solvers.portfolio.relaxation_by_container import is_enough, is_little_changed, relax_by_container
from libs.assignment.solvers.portfolio.subproblem import Pool
from libs.assignment.solvers.portfolio.unpaid import penalties, unpaid
from libs.assignment.solvers.portfolio.watch import Watch
from libs.mip.model import Model

RELAXATION_SHARE = 0.7
"""Share of the time left for a relaxation. After that the search continues without its prices."""
COLUMNS_SHARE = 0.6
"""Share of the time left for the relaxation by columns. One that is expected to take more does not begin."""
COLUMNS_CHANGES = 100
"""Number of changes that steps evaluate in the time of the fewest rounds of columns that help, for each count."""
STEP_CHANGES = 25
"""Number of changes that steps evaluate in the time of a step from container to container, for each count."""
PAID_FEW = 0.05
"""Share of the penalties. If mended counts pay no more than that, fractions are likely to avoid them all."""


class Stepped(NamedTuple):
    """A step from container to container, and the programs of the containers, from which columns go on."""

    alone: Alone
    step: Relaxation

    def begun_at(self, x: Floats) -> Stepped:
        """Return the step as if it had begun at the point `x` (C,), which has the columns that it kept.

        Prices and bound do not depend on them. But the counts before mending may pay large penalties. A search that
        takes these for costs of a relaxation finds nothing to gain.
        """
        assert self.step.raw is not None
        self.alone.x = x
        return self._replace(step=replace(self.step, raw=np.where(self.alone.kept, x, self.step.raw)))


class Ahead(NamedTuple):
    """The work begun beside mending: the whole relaxation without any penalty, or a step if columns follow."""

    whole: Beside[Relaxation] | None = None
    step: Beside[Stepped] | None = None


NOTHING = Ahead()
"""Nothing has begun."""


@contextmanager
def begun_ahead(
    lowered: Lowered, model: Model, shares: Shares, watch: Watch, pool: Pool, cancelled: Callable[[], bool] | None
) -> Iterator[Ahead]:
    """Begin to relax `model`, and yield what has begun, while steps mend the counts that it is for.

    A step does not depend on these counts. For the whole relaxation, the guess is that fractions pay no penalty, so
    all are left out, and put back if they are missed. It ends if the mended counts pay many, or need no whole
    relaxation.
    """
    limit_s = RELAXATION_SHARE * watch.time_left()

    def whole(ends: Callable[[], bool]) -> Relaxation:
        return relax(lowered, model, limit_s, left_out=penalties(model), cancelled=ends)

    def step(ends: Callable[[], bool]) -> Stepped:
        return stepped(lowered, model, shares, lowered.held, pool, limit_s, ends)

    if is_by_columns(lowered, model, shares):
        with Beside(step, cancelled) as one:
            yield Ahead(step=one)
    else:
        with Beside(whole, cancelled) as all_:
            yield Ahead(whole=all_)


def stepped(
    lowered: Lowered,
    model: Model,
    shares: Shares,
    counts: Ints,
    pool: Pool,
    limit_s: float,
    cancelled: Callable[[], bool] | None,
) -> Stepped:
    """Make a step from container to container. Containers that are not solved in time keep the counts (Q,)."""
    alone = Alone(lowered, model, shares, lowered.point_of(counts), pool)
    return Stepped(alone, relax_by_container(lowered, model, alone, limit_s, cancelled=cancelled))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Relaxing:
    """One model to relax, and the time for it.

    model      a model with the columns and rows of `lowered.model`
    begin      (Q,) the mended counts. A container that is not solved in time keeps them
    change_s   seconds to evaluate one change of counts; 0: not known, and no relaxation is expected to take too long
    cancelled  returns True to end the solve
    ahead      what has begun already
    """

    lowered: Lowered
    model: Model
    shares: Shares
    begin: Ints
    change_s: float
    watch: Watch
    pool: Pool
    cancelled: Callable[[], bool] | None
    ahead: Ahead = NOTHING

    def run(self) -> Relaxation:
        """Return the best relaxation for which there is time.

        A step from container to container may be enough if little has changed. It replaces a whole relaxation that is
        not solved in time, and columns go on from it. If these would take too long, the step is all, and if the step
        would, nothing is relaxed: steps on counts gain more.
        """
        if not self.shares.separates(self.model):
            return self.whole()
        by_columns = is_by_columns(self.lowered, self.model, self.shares)
        if by_columns and self._is_late(STEP_CHANGES) and not (self.ahead.step and self.ahead.step.is_over):
            return Relaxation.unknown(self.lowered)
        step = None
        if by_columns or is_little_changed(self.lowered, self.begin):
            alone, step = self._step()
            if self._is_enough(step):
                return replace(step, is_near=True)
            if by_columns:
                return step if self._is_late(COLUMNS_CHANGES) else self._by_columns(alone, step)
        found = self.whole()
        if not found.timed_out:
            return found
        self.watch.note(timed_out=True)
        return max(found, step or self._step().step, key=lambda one: one.bound)

    def whole(self) -> Relaxation:
        """Return the relaxation of the whole model, or what the time allows of it."""
        penalty = penalties(self.model)
        left_out = unpaid(self.model, penalty, self.lowered.point_of(self.begin))
        if (ahead := self.ahead.whole) is not None:
            if (penalty & ~left_out).sum() <= PAID_FEW * penalty.sum():
                return ahead.result()
            ahead.end()
        limit_s = RELAXATION_SHARE * self.watch.time_left()
        return relax(self.lowered, self.model, limit_s, left_out=left_out, cancelled=self.cancelled)

    def _step(self) -> Stepped:
        if (ahead := self.ahead.step) is not None:
            found = ahead.result().begun_at(self.lowered.point_of(self.begin))
        else:
            limit_s = RELAXATION_SHARE * self.watch.time_left()
            found = stepped(self.lowered, self.model, self.shares, self.begin, self.pool, limit_s, self.cancelled)
        self.watch.note(timed_out=found.step.timed_out)
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

    def _by_columns(self, alone: Alone, step: Relaxation) -> Relaxation:
        return relax_by_columns(
            self.lowered,
            self.model,
            self.shares,
            alone,
            step,
            COLUMNS_SHARE * self.watch.time_left(),
            begin=self.begin,
            cancelled=self.cancelled,
        )

    def _is_late(self, changes: int) -> bool:
        """Return whether a relaxation that takes the time of so many changes per count would take too long.

        If so, note it, because the answer then depends on the clock.
        """
        late = COLUMNS_SHARE * self.watch.time_left() < changes * len(self.begin) * self.change_s
        self.watch.note(timed_out=late)
        return late
