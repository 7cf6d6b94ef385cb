"""Cost of one object more or less in each count, and of each class the cheapest way from one container to another."""

from __future__ import annotations

import math

from libs.assignment.arrays import Floats, Ints
from libs.assignment.steps.change import try_one
from libs.assignment.steps.jit import callee, compiled, part
from libs.assignment.steps.network import Network
from libs.assignment.steps.state import State, borrow_network, borrow_state


@compiled
def measure(n: Network, s: State) -> None:
    """All margins."""
    n, s = borrow_network(n), borrow_state(s)
    for container in range(len(n.containers_at) - 1):
        refresh(n, s, container)


@callee
def refresh(n: Network, s: State, container: int) -> None:
    """The margins of a container's counts, and the best steps of their classes."""
    s.waiting[container] = 1
    first, last = n.containers_at[container], n.containers_at[container + 1]
    for at in range(first, last):
        q = n.of_container[at]
        s.more[q] = try_one(n, s, q, 1.0) if s.value[q] < n.most[q] - 0.5 else math.inf
        s.less[q] = try_one(n, s, q, -1.0) if s.value[q] > n.least[q] + 0.5 else math.inf
    for at in range(first, last):
        best_step(n, s, n.kind[n.of_container[at]])


@callee
def best_step(n: Network, s: State, kind: int) -> None:
    """Giver and taker are two counts, so the second best of either may be needed."""
    for way in range(2):
        s.giver[kind, way] = s.taker[kind, way] = -1
    for at in range(n.kinds_at[kind], n.kinds_at[kind + 1]):
        q = n.of_kind[at]
        enter(s.giver[kind], s.less, q)
        enter(s.taker[kind], s.more, q)
    give, give_too = cost_at(s.less, s.giver[kind, 0]), cost_at(s.less, s.giver[kind, 1])
    take, take_too = cost_at(s.more, s.taker[kind, 0]), cost_at(s.more, s.taker[kind, 1])
    if s.giver[kind, 0] != s.taker[kind, 0]:
        s.step[kind] = give + take
    else:
        s.step[kind] = min(give_too + take, give + take_too)


@part
def enter(best: Ints, cost: Floats, q: int) -> None:
    """Among the two cheapest, if it is."""
    if cost[q] < cost_at(cost, best[0]):
        best[1], best[0] = best[0], q
    elif cost[q] < cost_at(cost, best[1]):
        best[1] = q


@part
def cost_at(cost: Floats, q: int) -> float:
    """Infinite where there is none."""
    return cost[q] if q >= 0 else math.inf


@part
def other(best: Ints, q: int) -> int:
    """The cheapest count but q."""
    found: int = best[0] if best[0] != q else best[1]
    return found
