"""Find the constraints and costs that decide which servers a reservation has.

The module solves the problem of the one reservation, and solves it again without each constraint or cost in turn.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from libs.assignment import Limits, Objective, solve
from libs.domain.arrays import Floats, Indices
from libs.domain.fleet import FREE, FleetSnapshot
from libs.ras.bundle_limits import with_time
from libs.ras.evaluate import coverage_of, evaluate
from libs.ras.explain.relaxations import (
    ALWAYS,
    MOVE_COST,
    Relaxation,
    limits_of,
    losses_of,
    of_use,
    resources_of,
    supply_of,
)
from libs.ras.single_reservation import alone, own_and_free
from libs.ras.statement import Statement, state_region
from libs.ras.zones import Zones, choose_zones

NODES_MAX = 500
"""Most nodes of branch and bound for one solve."""
TIME_S_MAX = 60.0
"""Default seconds for all questions together."""
BASE_SHARE = 0.3
"""Share of the remaining time that each of the two solves may take with which the others are compared."""
SERVER_COST = 0.01
"""Cost of each held server if moves are free. Without this cost, an answer could as well hold useless servers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceChange:
    """The numbers of servers of one hardware type in one MSB, in two best answers.

    with_it     the number in the best answer with the constraint or cost
    without_it  the number in the best answer without the constraint or cost
    """

    msb: str
    hardware_type: str
    with_it: int
    without_it: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The best answer without one constraint or cost, with the servers of all other reservations fixed.

    decides        True: without the constraint or cost there is a better answer, even if the answer with it is not
                   quite optimal. False: it is proven that there is no better answer. None: the limits of the solves
                   left the question open
    saves          the saving of the better answer in all other costs of the policy; 0 if there is no better answer
    short_rru      the shortfall of the answer without the constraint or cost
    short_rru_now  the shortfall of the answer with the constraint or cost
    changes        the MSBs and hardware types in which the two answers have different numbers of servers
    """

    decides: bool | None
    saves: float
    short_rru: float
    short_rru_now: float
    changes: tuple[PlaceChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """The effect of one constraint or cost on the servers of a reservation.

    name     the identifier of the constraint or cost
    subject  the hardware type or the kind of domain that the constraint is about; None if it is about neither
    now      the effect while moves have their price. It explains why the reservation keeps its present servers
    afresh   the effect while moves are free. It explains why the reservation has servers of these types and MSBs at
             all. Of equally good answers, take the answer with the fewest servers. None for the price of moves itself
    """

    name: str
    subject: str | None
    now: Outcome
    afresh: Outcome | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deciders:
    """The constraints and costs that may decide which servers a reservation has, with their effects.

    could_save  the saving of the best choice among the reservation's own servers and the free servers; 0: no choice is
                better than the present one
    settled     whether it is proven that no choice saves more than `could_save`
    deciders    the effect of each constraint or cost
    """

    could_save: float
    settled: bool
    deciders: tuple[Decider, ...]


Values = tuple[float, ...]
"""Values by level, the higher priority first.

If the policy fixes first, there are two levels: penalties, and all other costs. Otherwise one level has their sum.
"""


class _View:
    """The region of one reservation, stated as a problem.

    server_cost         an additional cost for each server that the reservation holds
    penalty_most  (1,)  upper limit of the penalties of the reservation, also in views without a constraint or cost
    zones               the domains chosen for the reservation, if it may lie in a few only
    """

    def __init__(self, snapshot: FleetSnapshot, server_cost: float, penalty_most: Floats, zones: Zones | None) -> None:
        self.snapshot, self.server_cost, self.penalty_most, self.zones = snapshot, server_cost, penalty_most, zones
        self.statement: Statement = state_region(snapshot, penalty_most, zones=zones, server_cost=server_cost)

    def without(self, relaxation: Relaxation, binding: Indices) -> _View:
        """Return the view of the region without the constraint or cost `relaxation`.

        The chosen domains stay, and added servers count as in them. Without a limit on domains they are those of the
        answer `binding`.
        """
        relaxed, zones = relaxation.relax(self.snapshot), self.zones
        if relaxed.reservations.domain_limits is not self.snapshot.reservations.domain_limits:
            zones = choose_zones(relaxed, self.whole(binding), stay=np.ones(1, bool))
        elif zones is not None:
            zones = zones.with_open(len(relaxed.servers) - len(zones.of))
        return _View(relaxed, self.server_cost, self.penalty_most, zones)

    def whole(self, binding: Indices) -> Indices:
        """Return a binding (S,) of all servers: `binding` for the first servers, and FREE for all others."""
        more = np.full(len(self.snapshot.servers) - len(binding), FREE, np.int32)
        return np.concatenate([binding, more])

    def values(self, binding: Indices) -> Values:
        """Return the values of `binding` that the solve minimises, by level."""
        whole = self.whole(binding)
        score = evaluate(self.snapshot, whole)
        free = self.server_cost * float((whole[self.statement.rows] < 0).sum())
        cost = score.total_without_rack - score.penalty - free
        return (score.penalty, cost) if self.snapshot.policy.fix_first else (score.penalty + cost,)

    def best(self, start: Indices, time_s: float) -> _Answer:
        """Return the best binding found in `time_s` seconds.

        It is `start` if no found binding is better than `start` by more than the tolerance.
        """
        found = solve(
            self.statement.problem,
            with_time(Limits(nodes_max=NODES_MAX, relative_gap=0.0), time_s),
            solver="mip",
            objective=Objective.PRIORITIES if self.snapshot.policy.fix_first else Objective.SUM,
            start=self.statement.assignment(self.whole(start)),
        )
        binding = self.statement.binding(found.assignment, self.snapshot.servers.target)
        was, now = self.values(start), self.values(binding)
        if not _is_better(now, was):
            binding, now = start, was
        slack = tuple(max(value - bound, 0.0) for value, bound in zip(now, found.bound[1:], strict=True))
        return _Answer(self, binding, slack)


def _tolerance(value: float) -> float:
    """Return the difference up to which a value counts as equal to `value`, because of rounding in solvers."""
    return max(1e-4, 1e-9 * abs(value))


def _is_better(new: Values, old: Values) -> bool:
    """Return whether `new` is lower than `old` at the first level at which they differ."""
    gains = [a - b for a, b in zip(old, new, strict=True) if abs(a - b) > _tolerance(a)]
    return bool(gains) and gains[0] > 0


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """The best binding found for a view.

    slack  (levels,) the most by which an unknown binding could still be better at each level
    """

    view: _View
    binding: Indices
    slack: Values


def decide(snapshot: FleetSnapshot, reservation: int, *, time_s_max: float = TIME_S_MAX) -> Deciders:
    """Find the constraints and costs that decide which servers the reservation in row `reservation` has.

    Solve the reservation with its own servers and the free servers, and again without each constraint or cost in turn.
    A claim that a constraint or cost decides rests on a better answer without it. A claim that it does not decide rests
    on a lower bound. A question that exceeds its share of `time_s_max` stays open. The first two solves get larger
    shares, because all others compare with them.
    """
    deadline = time.monotonic() + time_s_max
    own = of_use(alone(snapshot, reservation, own_and_free(snapshot, reservation)))
    held = np.maximum(own.servers.target, FREE)
    has, policy = coverage_of(own.in_cost_units(), held), own.policy
    penalty_most = policy.shortfall_cost * has.unmet + policy.affinity_cost * has.off_affinity.sum(1)
    types = np.flatnonzero((own.reservations.rru[0] > 0) & (len(own.topology.msbs) > 0))
    supplies = [supply_of(own, int(t)) for t in types]
    always = (*ALWAYS, *losses_of(own), *resources_of(own))
    asked = [relaxation for relaxation in (*always, *limits_of(own), *supplies) if relaxation.applies(own)]
    questions = 2 * len(asked)

    def left_s() -> float:
        return max(deadline - time.monotonic(), 0.0)

    def time_s() -> float:
        nonlocal questions
        questions -= 1
        return left_s() / (questions + 1)

    zones = choose_zones(own, time_s_max=BASE_SHARE * left_s())
    now = _View(own, 0.0, penalty_most, zones).best(held, BASE_SHARE * left_s())
    free = _View(MOVE_COST.relax(own), SERVER_COST, penalty_most, zones)
    afresh = free.best(now.binding, BASE_SHARE * left_s())
    found = [
        Decider(
            name=relaxation.name,
            subject=relaxation.subject,
            now=_without(now, relaxation, time_s()),
            afresh=_without(afresh, relaxation, time_s()),
        )
        for relaxation in asked
    ]
    if MOVE_COST.applies(own):
        found.append(Decider(name=MOVE_COST.name, subject=None, now=_outcome(now, now.binding, afresh), afresh=None))
    could_save = _plain(own, held) - _plain(own, now.binding)
    settled = all(off <= 2 * _tolerance(value) for off, value in zip(now.slack, now.view.values(held), strict=True))
    return Deciders(could_save=could_save, settled=settled, deciders=tuple(found))


def _without(answer: _Answer, relaxation: Relaxation, time_s: float) -> Outcome:
    view = answer.view.without(relaxation, answer.binding)
    more = len(view.snapshot.servers) - len(answer.binding)
    start = np.concatenate([answer.binding, np.full(more, FREE, np.int32)])
    return _outcome(answer, start, view.best(start, time_s))


def _outcome(answer: _Answer, start: Indices, without: _Answer) -> Outcome:
    """Compare the answer `answer` with the answer `without`, from a view that lacks one constraint or cost.

    start  the binding of `answer`, for the servers of the view of `without`
    """
    view, binding = without.view, without.binding
    decides = _decides(view.values(start), view.values(binding), answer.slack, without.slack)
    if not decides:
        binding = start
    snapshot = view.snapshot
    had, gets = _by_place(snapshot, start), _by_place(snapshot, binding)
    msbs, types = snapshot.topology.msbs, snapshot.hardware_types
    cost = _plain(snapshot, start)
    if decides and not np.array_equal(snapshot.reservations.rru, answer.view.snapshot.reservations.rru):
        cost = _plain(answer.view.snapshot, answer.binding)  # without a guest the same servers would cost more
    return Outcome(
        decides=decides,
        saves=cost - _plain(snapshot, binding),
        short_rru=float(coverage_of(snapshot, binding).shortfall[0]),
        short_rru_now=float(coverage_of(answer.view.snapshot, answer.binding).shortfall[0]),
        changes=tuple(
            PlaceChange(
                msb=str(msbs[m]), hardware_type=str(types[t]), with_it=int(had[m, t]), without_it=int(gets[m, t])
            )
            for m, t in np.argwhere(had != gets)
        ),
    )


def _decides(before: Values, after: Values, slack: Values, slack_without: Values) -> bool | None:
    """Return whether `after` is better than `before` at the first level at which they differ.

    Return None if the difference at some level is not known, because one of the values may still improve.

    slack          (levels,) the most that `before` can still improve
    slack_without  (levels,) the most that `after` can still improve
    """
    for was, now, missing, missing_without in zip(before, after, slack, slack_without, strict=True):
        tolerance, gain = _tolerance(was), was - now
        if gain > missing + tolerance:
            return True
        if gain + missing_without > 2 * tolerance:
            return None
        if missing > 2 * tolerance:
            return None
    return False


def _plain(snapshot: FleetSnapshot, binding: Indices) -> float:
    """Return the total cost of `binding` by the costs of the policy, without the spread over racks."""
    return evaluate(snapshot, binding).total_without_rack


def _by_place(snapshot: FleetSnapshot, binding: Indices) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Return the number of lasting servers that `binding` binds in each MSB and of each hardware type, (M, T)."""
    counts = np.zeros((len(snapshot.topology.msbs), len(snapshot.hardware_types)), np.int64)
    rows = snapshot.servers.lasting & (binding >= 0)
    np.add.at(counts, (snapshot.server_msb[rows], snapshot.servers.hardware_type[rows]), 1)
    return counts
