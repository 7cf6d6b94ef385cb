"""Descend by pairs of steps that meet in one container. The container takes one object and gives another, or takes two,
or gives two.
"""

from __future__ import annotations

import math

from libs.assignment.kernels.jit import callee, compiled, part
from libs.assignment.language.arrays import Bools, Ints
from libs.assignment.solvers.portfolio.steps.change import cost_of, drop, keep
from libs.assignment.solvers.portfolio.steps.margins import cost_at, other, refresh
from libs.assignment.solvers.portfolio.steps.network import Network
from libs.assignment.solvers.portfolio.steps.state import WAYS, State, borrow_network, borrow_state
from libs.assignment.solvers.portfolio.steps.transfer import go_down

STEPS_MAX = 1_000_000
"""Most steps of one descent. A descent practically never reaches it."""
TAKE, GIVE = 0, 2
"""Places of the steps of a group that take an object, and of those that give one."""


@callee
def go_through(n: Network, s: State, container: int, begin: int, opened: Bools, least: float, until: int) -> int:
    """For each step of a container, find the best second step, and make both at once if they save anything.

    Of alike counts only the best is tried: in the container they cost the same. Begin at the group `begin` of the
    container, and stop after `until` changes in all, but not before one. Return the next group; -1 at the end.
    """
    if begin == 0:
        s.waiting[container] = 0
    groups = n.groups_at[container + 1] - n.groups_at[container]
    choose(n, s, container, opened)
    for group in range(begin, groups):
        if s.tried[0] >= until and group > begin:
            return group
        for way in (TAKE, GIVE):
            while s.best[WAYS * group + way] >= 0 and exchange_with(n, s, group, way, groups, least):
                go_down(n, s, least, STEPS_MAX)
                choose(n, s, container, opened)
    return -1


@callee
def choose(n: Network, s: State, container: int, opened: Bools) -> None:
    """Find for each group of alike counts of a container the two best steps that take, and the two that give."""
    first = n.groups_at[container]
    for group in range(first, n.groups_at[container + 1]):
        to = WAYS * (group - first)
        for k in range(to, to + WAYS):
            s.best[k], s.paid[k] = -1, math.inf
        for at in range(n.group_at[group], n.group_at[group + 1]):
            q = n.of_group[at]
            if opened[q] and s.value[q] < n.most[q] - 0.5:
                keep_best(s, to + TAKE, q, cost_at(s.less, other(s.giver, n.kind[q], q)))
            if s.value[q] > n.least[q] + 0.5:
                keep_best(s, to + GIVE, q, cost_at(s.more, other(s.taker, n.kind[q], q)))


@part
def keep_best(s: State, at: int, q: int, paid: float) -> None:
    """Put a step among the two best at the places `at` and `at` + 1."""
    if paid < s.paid[at]:
        s.best[at + 1], s.paid[at + 1] = s.best[at], s.paid[at]
        s.best[at], s.paid[at] = q, paid
    elif paid < s.paid[at + 1]:
        s.best[at + 1], s.paid[at + 1] = q, paid


@callee
def exchange_with(n: Network, s: State, group: int, way: int, groups: int, least: float) -> bool:
    """Make the best step of a group with the best of its own or a later group, if both together save anything.

    The costs in other containers come from their margins, and are computed exactly before the change.
    """
    a, paid, sign = s.best[WAYS * group + way], s.paid[WAYS * group + way], 1.0 if way == TAKE else -1.0
    best, one, up = -least, -1, 1.0
    for at in range(WAYS * group, WAYS * groups, 2):
        k = at if s.best[at] != a else at + 1
        b = s.best[k]
        if b >= 0:
            by = 1.0 if at % WAYS == TAKE else -1.0
            s.move[0], s.amount[0] = a, sign
            s.move[1], s.amount[1] = b, by
            cost = paid + s.paid[k] + cost_of(n, s, 2)
            drop(n, s)
            if cost < best:
                best, one, up = cost, b, by
    if one < 0:
        return False
    p, q = partner(n, s, a, sign), partner(n, s, one, up)
    s.move[0], s.amount[0] = a, sign
    s.move[1], s.amount[1] = p, -sign
    s.move[2], s.amount[2] = one, up
    s.move[3], s.amount[3] = q, -up
    cost = cost_of(n, s, 4)
    if cost > -least:
        drop(n, s)
        return False
    keep(n, s)
    refresh(n, s, n.container[a])
    refresh(n, s, n.container[p])
    refresh(n, s, n.container[q])
    return True


@callee
def partner(n: Network, s: State, q: int, sign: float) -> int:
    """Return the count outside the container that gives the object that q takes, or takes the object that q gives."""
    kind = n.kind[q]
    return other(s.giver if sign > 0 else s.taker, kind, q)


@compiled
def exchange(n: Network, s: State, order: Ints, place: Ints, opened: Bools, least: float, tries_max: int) -> None:
    """Visit containers in order until `tries_max` changes were tried. Margins must be known.

    place   (2,) the container of `order` to begin with, and its group; output: where to continue
    opened  (Q,) counts that are worth filling
    """
    n, s = borrow_network(n), borrow_state(s)
    until = s.tried[0] + tries_max
    while place[0] < len(order) and s.tried[0] < until:
        at = go_through(n, s, order[place[0]], place[1], opened, least, until)
        place[1] = max(at, 0)
        if at < 0:
            place[0] += 1
