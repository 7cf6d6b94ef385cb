"""The best prices of supply for given prices of all other rows, without a linear program.

At any row prices, weak duality gives a lower bound (libs/mip/bound.py). With given prices of the rows of containers,
each class of objects gives its objects to the counts that pay most. The prices of supply follow from that choice.
"""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Floats
from libs.assignment.model.lowered import Lowered
from libs.mip.bound import reduced_costs, usable_prices
from libs.mip.model import Model

_SLACK = 1e-6
"""Objects of a class that may be missing, for rounding in sums of floats."""


def with_supply(lowered: Lowered, model: Model, price: Floats) -> Floats:
    """Return `price` (N,) with the best prices of supply rows and leaving rows, for these prices of all other rows.

        max_{pi, p}  sum_k size[k] pi[k]  +  sum_g held[g] p[g]  +  sum_q min(0, (r[q] - pi[k] - p[g]) most[q])
                                                                 +  sum_j min(0, (m[j] - p[g]) size[j])

    r and m are the costs of counts q and of leaving columns j, less the other rows. A count costs r each, and saves m
    for those that stay, the dearest first. So the costs of one more object rise, and the greedy choice is best: pi[k]
    is the cost at which the counts of a class have taken all its objects.
    """
    leaving, classes, width = lowered.leaving, len(lowered.classes.size), len(lowered.kind)
    first_own = classes + len(leaving.held)
    own = usable_prices(model, price)
    own[:first_own] = 0.0
    reduced = reduced_costs(model, own)
    cost, most = reduced[:width], model.upper[:width]
    count_of = np.full(len(leaving.held), -1, np.int64)
    count_of[leaving.at] = leaving.counts
    saved = np.maximum(reduced[leaving.column], 0.0)
    stays = np.flatnonzero(count_of[leaving.group] >= 0)
    stays = stays[np.lexsort((-saved[stays], leaving.group[stays]))]
    at, size = count_of[leaving.group[stays]], leaving.size[stays].astype(np.float64)
    before = np.cumsum(size) - size
    first = np.append(True, at[1:] != at[:-1])[: len(at)]
    before -= np.repeat(before[first], np.diff(np.append(np.flatnonzero(first), len(at))))
    size = np.clip(most[at] - before, 0.0, size)  # a count may hold fewer than began there
    rest = np.maximum(most - np.bincount(at, size, width), 0.0)
    kind = np.concatenate([lowered.kind[at], lowered.kind])
    each, room = np.concatenate([cost[at] - saved[stays], cost]), np.concatenate([size, rest])
    order = np.lexsort((each, kind))
    taken = np.cumsum(room[order])
    ends = np.searchsorted(kind[order], np.arange(classes), "right")
    starts = np.searchsorted(kind[order], np.arange(classes), "left")
    base = np.append(0.0, taken)[starts]
    last = np.minimum(np.searchsorted(taken, base + lowered.classes.size - _SLACK), ends - 1)
    supply = each[order][np.maximum(last, 0)]
    dearest = np.zeros(len(leaving.held))
    np.maximum.at(dearest, leaving.group, saved)
    here = np.maximum(count_of, 0)
    stay = np.where(count_of >= 0, np.clip(cost[here] - supply[lowered.kind[here]], 0.0, dearest), dearest)
    own[:classes] = supply
    own[classes:first_own] = stay
    return own
