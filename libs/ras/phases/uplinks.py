"""The third phase: relieve the racks that send more than their uplinks (docs/designs/0063). Source: RAS, 3.5.1."""

from __future__ import annotations

import numpy as np

from libs.assignment import Limits
from libs.domain.arrays import Indices
from libs.domain.fleet import FREE, FleetSnapshot
from libs.domain.uplinks import above_gbit, gbit_each, share_above, weighs_uplinks
from libs.plan_check.churn import ChurnBudget
from libs.ras.phases.clock import Clock
from libs.ras.phases.refine import chosen_by, refine, retiring
from libs.ras.phases.report import PhaseReport
from libs.ras.server_classes import Index, places_of

NAME = "uplinks"
PARTNERS_MAX = 3
"""Most reservations that are chosen for each one that sends too much, to exchange servers with it."""


def relieve_uplinks(
    snapshot: FleetSnapshot, target: Indices, budget: ChurnBudget | None, limits: Limits, clock: Clock, *, seed: int
) -> tuple[Indices, PhaseReport | None]:
    """Return the plan `target` (S,) with less traffic above the limits of racks, and a report; None if none is above.

    The heaviest reservations and their partners are solved with all goals and with racks, while all other reservations
    keep their servers.
    """
    if not weighs_uplinks(snapshot):
        return target, None
    heavy, waiting = heaviest(snapshot, target)
    if not len(heavy):
        return target, None
    chosen = with_partners(snapshot, target, heavy)
    return refine(snapshot, target, chosen, waiting, budget, limits, clock, seed=seed, phase=NAME, term="uplinks")


def heaviest(snapshot: FleetSnapshot, target: Indices) -> tuple[Index, int]:
    """Return the reservations that send most of what is above the limits of racks, and how many wait."""
    return chosen_by(snapshot, share_above(snapshot, target))


def with_partners(snapshot: FleetSnapshot, target: Indices, heavy: Index) -> Index:
    """Return the reservations `heavy`, each of them followed by those that could take over most of its traffic's place.

    These have servers that send less, in other racks of the same places. An exchange within a place changes no term but
    moves and racks.
    """
    servers, R = snapshot.servers, len(snapshot.reservations)
    places = places_of(snapshot)
    hot = (above_gbit(snapshot, target) > 0)[servers.rack]
    kind = places.types(snapshot)
    leave, take = (places.counts(np.where(some, target, FREE).astype(np.int32), R) for some in (hot, ~hot))
    take[retiring(snapshot)] = 0
    sent, found = gbit_each(snapshot), dict[int, None]()
    for r in heavy.tolist():
        found[r] = None
        at = np.flatnonzero(leave[r])
        less = np.maximum(sent[r, kind[at]] - sent[:, kind[at]], 0.0)
        gain = (np.minimum(leave[r, at], take[:, at]) * less).sum(1)
        best = np.argsort(-gain, kind="stable")[:PARTNERS_MAX]
        found |= dict.fromkeys(best[gain[best] > 0].tolist())
    return np.array(list(found), np.intp)
