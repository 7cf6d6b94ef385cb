"""Hold the state of steps: the columns' values, the elements' arguments, margins, and room to try changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from libs.assignment.kernels.jit import part
from libs.assignment.kernels.lend import pointer
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.solvers.portfolio.steps.network import Network

MOVES_MAX = 4
"""Most counts that one change begins with."""
NONE, APART = -1, -2
"""No element, and an element on no list."""
WAYS = 4
"""Steps kept for each group of alike counts: two that take, and two that give."""


class State(NamedTuple):
    """C columns, E elements, D depths, Q counts, K classes, S containers.

    value, x          (C,), (E,)
    change            (E,)  of the arguments, in the change under trial; 0 between changes
    marked            (E,)  1 if an element, or a maximum's first, is on the list of elements to visit
    head, after       (E,)  the changed elements of a maximum, as a list: that of its first element begins it, and each
                      has the one after it; NONE: the end. `after` of an unchanged element is APART
    top, second       (E,)  of a maximum's first element, the two elements with the largest arguments; NONE: only one
    list, listed      (D E,), (D,)  elements to visit, E places for each depth, and their number
    made, by, makes   (C,), (C,), (1,)  changed columns, their changes, and their number
    move, amount      (MOVES_MAX,)  counts that the change begins with
    more, less        (Q,)  cost of one more and of one less object in a count; inf without room, nan before
    step              (K,)  of each class the cost of the cheapest move of one object between two containers
    givers, takers    (2 Q,)  of each class a tournament of its counts, by less and by more: leaves after inner places
    giver, taker      (2 K,)  of each class the two counts that give, and that take, one object at the least cost; -1:
                      none
    waiting           (S,)  1 if margins have changed since the last visit of a container
    best, paid        (WAYS groups of a container,)  of each group of alike counts the two that take one object at the
                      least cost outside the container, and the two that give one; -1: none; and these costs
    tried             (1,)  number of evaluated changes
    """

    value: Floats
    x: Floats
    change: Floats
    marked: Ints
    head: Ints
    after: Ints
    top: Ints
    second: Ints
    list: Ints
    listed: Ints
    made: Ints
    by: Floats
    makes: Ints
    move: Ints
    amount: Floats
    more: Floats
    less: Floats
    step: Floats
    givers: Ints
    takers: Ints
    giver: Ints
    taker: Ints
    waiting: Ints
    best: Ints
    paid: Floats
    tried: Ints


def state_of(n: Network, value: Floats) -> State:
    """Return the state at a point (C,) of the model, without margins."""
    columns, elements, counts, kinds = len(n.cost), len(n.out), len(n.kind), n.kinds
    column = np.repeat(np.arange(columns), np.diff(n.start))
    return State(
        value=value.copy(),
        x=n.constant + np.bincount(n.element, n.by * value[column], elements),
        change=np.zeros(elements),
        marked=np.zeros(elements, dtype=np.int64),
        head=np.full(elements, NONE),
        after=np.full(elements, APART),
        top=np.full(elements, NONE),
        second=np.full(elements, NONE),
        list=np.zeros(n.depths * len(n.out), dtype=np.int64),
        listed=np.zeros(n.depths, dtype=np.int64),
        made=np.zeros(columns + MOVES_MAX, dtype=np.int64),
        by=np.zeros(columns + MOVES_MAX),
        makes=np.zeros(1, dtype=np.int64),
        move=np.zeros(MOVES_MAX, dtype=np.int64),
        amount=np.zeros(MOVES_MAX),
        more=np.full(counts, np.nan),
        less=np.full(counts, np.nan),
        step=np.full(kinds, np.inf),
        givers=np.full(2 * counts, -1),
        takers=np.full(2 * counts, -1),
        giver=np.full(2 * kinds, -1),
        taker=np.full(2 * kinds, -1),
        waiting=np.ones(n.containers, dtype=np.int64),
        best=np.full(WAYS * int(np.diff(n.groups_at).max(initial=0)), -1),
        paid=np.full(WAYS * int(np.diff(n.groups_at).max(initial=0)), np.inf),
        tried=np.zeros(1, dtype=np.int64),
    )


@part
def borrow_network(n: Network) -> Network:
    """Return pointers to the same arrays, valid as long as the caller's arrays exist."""
    return Network(
        n.elements,
        n.depths,
        n.kinds,
        n.containers,
        pointer(n.function),
        pointer(n.out),
        pointer(n.depth),
        pointer(n.constant),
        pointer(n.low),
        pointer(n.high),
        pointer(n.first),
        pointer(n.last),
        pointer(n.start),
        pointer(n.element),
        pointer(n.by),
        pointer(n.cost),
        pointer(n.least),
        pointer(n.most),
        pointer(n.kind),
        pointer(n.container),
        pointer(n.kinds_at),
        pointer(n.of_kind),
        pointer(n.place),
        pointer(n.groups_at),
        pointer(n.group_at),
        pointer(n.of_group),
    )


@part
def borrow_state(s: State) -> State:
    """Return pointers to the same arrays, valid as long as the caller's arrays exist."""
    return State(
        pointer(s.value),
        pointer(s.x),
        pointer(s.change),
        pointer(s.marked),
        pointer(s.head),
        pointer(s.after),
        pointer(s.top),
        pointer(s.second),
        pointer(s.list),
        pointer(s.listed),
        pointer(s.made),
        pointer(s.by),
        pointer(s.makes),
        pointer(s.move),
        pointer(s.amount),
        pointer(s.more),
        pointer(s.less),
        pointer(s.step),
        pointer(s.givers),
        pointer(s.takers),
        pointer(s.giver),
        pointer(s.taker),
        pointer(s.waiting),
        pointer(s.best),
        pointer(s.paid),
        pointer(s.tried),
    )
