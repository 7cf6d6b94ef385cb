"""Descend by steps within classes. Make the step that saves most, with more objects as long as they save more."""

from __future__ import annotations

import math

from libs.assignment.kernels.jit import callee, compiled, part
from libs.assignment.solvers.portfolio.steps.change import drop, keep, try_two
from libs.assignment.solvers.portfolio.steps.margins import cost_at, refresh
from libs.assignment.solvers.portfolio.steps.network import Network
from libs.assignment.solvers.portfolio.steps.state import State, borrow_network, borrow_state


@callee
def take_step(n: Network, s: State, giver: int, taker: int, least: float) -> float:
    """Move one object, or two, or four and so on, as long as more objects save more. Return the change of cost; 0: no
    move.
    """
    best, k = 0.0, 0.0
    tried = 1.0
    while s.value[giver] - tried > n.least[giver] - 0.5 and s.value[taker] + tried < n.most[taker] + 0.5:
        cost = try_two(n, s, giver, taker, tried)
        drop(n, s)
        if cost >= best - least:
            break
        best, k, tried = cost, tried, 2.0 * tried
    if k > 0.0:
        best = try_two(n, s, giver, taker, k)
        keep(n, s)
    return best


@part
def step_of(s: State, kind: int) -> tuple[int, int]:
    """Return the giver and the taker of the cheapest step of a class."""
    giver, taker = s.giver[2 * kind], s.taker[2 * kind]
    if giver != taker:
        return giver, taker
    give_too, take_too = s.giver[2 * kind + 1], s.taker[2 * kind + 1]
    if cost_at(s.less, give_too) + s.more[taker] < s.less[giver] + cost_at(s.more, take_too):
        return give_too, taker
    return giver, take_too


@callee
def go_down(n: Network, s: State, least: float, steps_max: int) -> int:
    """Make steps until none saves more than `least`. Return their number."""
    for step in range(steps_max):
        best, kind = -least, -1
        for k in range(n.kinds):
            if s.step[k] < best:
                best, kind = s.step[k], k
        if kind < 0:
            return step
        giver, taker = step_of(s, kind)
        if take_step(n, s, giver, taker, least) == 0.0:
            # Both containers share something, so both steps together cost more than each alone. The class waits for a
            # step of another class that changes its margins. Only saving steps wake a class, so this ends.
            s.step[kind] = math.inf
            continue
        refresh(n, s, n.container[giver])
        refresh(n, s, n.container[taker])
    return steps_max


@compiled
def transfer(n: Network, s: State, least: float, steps_max: int) -> int:
    """Descend from known margins. Return the number of steps."""
    return go_down(borrow_network(n), borrow_state(s), least, steps_max)
