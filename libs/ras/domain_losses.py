"""Recognise the loss of a whole domain in failures that come server by server (docs/designs/0028, ADR 0011)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from libs.domain.arrays import Bools, Floats, Indices, Ints
from libs.domain.domain_kind import UNPLACED, DomainLoss
from libs.domain.replacement import BURST_LOST_SHARE, FailuresSnapshot

LOST_SHARE = 0.5
"""Share of a domain's servers that are down, above which it counts as lost, for any scope of its events (ADR 0011).
BURST_LOST_SHARE is for servers that went down within one window: so many at a time are no coincidence.
"""
WINDOW_S = 300.0
"""Seconds in which failures of one domain are taken together."""
HOLD_S_MAX = 900.0
"""Longest time that a lost server waits before it may draw a spare one, in seconds since its failure."""
_FAILURES_PER_S = 1 / (400 * 3600)
"""Rate at which one server fails by itself: 1 % of servers down, with repairs that take 4 h."""
_DEVIATIONS, _ALWAYS = 4.0, 3.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OfDomains:
    """A property of the domains in which servers stand.

    losses    (K,)         the further kinds that a reservation survives
    msb       (S,) bool    of the server's MSB
    further   (S, K) bool  of its domain of each of these kinds
    """

    losses: tuple[DomainLoss, ...]
    msb: Bools
    further: Bools

    def of_survived(self, reservation: Indices) -> Bools:
        """Return whether it is so of a further domain whose loss the `reservation` (S,) of the server survives, (S,).

        The loss of an MSB draws nothing for any reservation (ADR 0011). That of another domain is covered only for
        those that have an embedded buffer for it.
        """
        return np.asarray((self.further & self.survived_by(reservation)).any(1))

    def survived_by(self, reservation: Indices) -> Bools:
        """Return whether each reservation (N,) survives the loss of a domain of each further kind, (N, K)."""
        found = [loss.survived_by(reservation) for loss in self.losses]
        return np.array(found, bool).reshape(len(self.losses), len(reservation)).T


def explained_failures(servers: Ints) -> Floats:
    """Return the failures within WINDOW_S that are no surprise in domains of so many servers, (N,).

    lambda N W + 4 sqrt(lambda N W) + 3
    """
    mean = _FAILURES_PER_S * WINDOW_S * servers
    return np.asarray(mean + _DEVIATIONS * np.sqrt(mean) + _ALWAYS)


def suspected_domains(failures: FailuresSnapshot) -> OfDomains:
    """Return the servers in domains in which more servers failed within the last WINDOW_S than single failures explain.
    The failures of one rack alone are no domain's loss.
    """
    return _of_servers(failures, _suspected)


def suspected_names(failures: FailuresSnapshot, rows: NDArray[np.intp]) -> dict[str, list[str]]:
    """Return the suspected domains in which the servers `rows` stand, and whose loss their reservations do not replace:
    kind -> names, in order.
    """
    suspected, of = suspected_domains(failures), failures.fleet.servers.target[rows]
    counts = [suspected.msb[rows], *(suspected.further[rows] & suspected.survived_by(of)).T]
    found = {
        loss.kind: sorted({str(name) for name in loss.domains[loss.of[rows[here]]]})
        for loss, here in zip(failures.fleet.losses, counts, strict=True)
    }
    return {kind: names for kind, names in found.items() if names}


def lost_domains(failures: FailuresSnapshot) -> OfDomains:
    """Return the servers in domains that count as lost: more than LOST_SHARE of their servers are down. More than
    BURST_LOST_SHARE are enough if they failed within one window of WINDOW_S. They must be failures that no lost domain
    of another kind explains.
    """
    return _of_servers(failures, _lost)


def _of_servers(
    failures: FailuresSnapshot, decide: Callable[[FailuresSnapshot, Indices, int, Bools], Bools]
) -> OfDomains:
    """Return what `decide` says of the domains of each kind. It gets the domain of each server, (S,), or UNPLACED, and
    the number of domains. It also gets the failures, (S,), that neither a lost domain of another kind nor the event of
    one explains. A domain of a further kind counts only if it stands in several racks: a lost rack is replaced.
    """
    losses, found = failures.fleet.losses, []
    for k, loss in enumerate(losses):
        place, number = loss.place, len(loss.domains)
        own = ~failures.fleet.servers.available & ~_reported(failures, place)
        for other in losses[:k] + losses[k + 1 :]:
            own &= ~_explained(failures, place, other)
        is_so = decide(failures, place, number, own)
        if k > 0:
            is_so = is_so & (_racks_of(failures, place, place != UNPLACED, number) > 1)
        found.append(np.append(is_so, False)[place])
    return OfDomains(losses=losses[1:], msb=found[0], further=np.stack(found, axis=1)[:, 1:])


def _reported(failures: FailuresSnapshot, of: Indices) -> Bools:
    """Return the failures, (S,), in domains `of` (S,) of one kind that the event of a further domain explains.

    That domain also stands outside of the server's domain in `of`. The loss of an MSB may be reported row by row.
    """
    event, explained = failures.event_domain, np.zeros(len(of), bool)
    rows = np.flatnonzero((event != UNPLACED) & (of != UNPLACED))
    pairs = np.unique(np.stack([event[rows], of[rows]]), axis=1)
    domains, places = np.unique(pairs[0], return_counts=True)
    explained[rows] = np.isin(event[rows], domains[places > 1])
    return explained


def _explained(failures: FailuresSnapshot, of: Indices, other: DomainLoss) -> Bools:
    """Return the failures, (S,), in domains `of` (S,) of one kind that lost domains of the kind `other` explain.

    Of such a domain, more than LOST_SHARE are down, and also of its part outside of the server's domain in `of`. More
    are down there than single failures explain. So a part of a domain never explains the loss of the whole.
    """
    is_down, place, number = ~failures.fleet.servers.available, other.place, len(other.domains)
    every, down = _count(place, number), _count(place[is_down], number)
    explained = np.zeros(len(is_down), bool)
    rows = np.flatnonzero(np.append(down > LOST_SHARE * every, False)[place] & (of != UNPLACED))
    if not len(rows):
        return explained
    _, pair = np.unique(place[rows] * (np.int64(of.max()) + 1) + of[rows], return_inverse=True)
    every_outside = every[place[rows]] - np.bincount(pair)[pair]
    down_outside = down[place[rows]] - np.bincount(pair, is_down[rows])[pair]
    least = np.maximum(LOST_SHARE * every_outside, explained_failures(every_outside))
    explained[rows] = is_down[rows] & (down_outside > least)
    return explained


def _lost(failures: FailuresSnapshot, of: Indices, number: int, own: Bools) -> Bools:
    all_servers, down = _count(of, number), _count(of[~failures.fleet.servers.available], number)
    lost = np.asarray(down > LOST_SHARE * all_servers)
    for d in np.flatnonzero(~lost & (_count(of[own], number) > BURST_LOST_SHARE * all_servers)).tolist():
        rows = np.flatnonzero(own & (of == d) & np.isfinite(failures.down_s))
        rows = rows[np.argsort(failures.down_s[rows], kind="stable")]
        since_s = failures.down_s[rows]
        ends = np.searchsorted(since_s, since_s + WINDOW_S, side="right")
        if not len(rows) or (longest := int((ends - np.arange(len(rows))).max())) <= BURST_LOST_SHARE * all_servers[d]:
            continue
        first = int((ends - np.arange(len(rows))).argmax())
        burst = np.zeros(len(own), bool)
        burst[rows[first : first + longest]] = True
        lost[d] = _is_burst(failures, of, number, burst)[d]
    return lost


def _suspected(failures: FailuresSnapshot, of: Indices, number: int, own: Bools) -> Bools:
    return _is_burst(failures, of, number, own & (failures.down_s <= WINDOW_S))


def _is_burst(failures: FailuresSnapshot, of: Indices, number: int, chosen: Bools) -> Bools:
    """Return the domains, (number,), in which the chosen servers, (S,), are more than single failures explain, in more
    than one rack.
    """
    chosen = chosen & (of != UNPLACED)
    explained = explained_failures(_count(of, number))
    return np.asarray((_count(of[chosen], number) > explained) & (_racks_of(failures, of, chosen, number) > 1))


def _racks_of(failures: FailuresSnapshot, of: Indices, chosen: Bools, number: int) -> Ints:
    """Return the number of racks, (number,), in which the chosen servers, (S,), of each domain stand."""
    pairs = np.unique(np.stack([of[chosen], failures.fleet.servers.rack[chosen]]), axis=1)
    return _count(pairs[0], number)


def _count(of: Indices, number: int) -> Ints:
    return np.bincount(of[of != UNPLACED], minlength=number)
