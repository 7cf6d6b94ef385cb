"""Choose the domains of reservations that may lie in a few domains only, before a solve states its problem.

The choice divides the servers into zones, and a zone is open to some reservations. See docs/designs/0054.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from libs.domain.arrays import Bools, Indices
from libs.domain.fleet import FleetSnapshot
from libs.domain.limited_kinds import LimitedKind, limited_kinds
from libs.plan_check.hard_limits import beyond_domains, servers_by_domain
from libs.ras.zones_one_by_one import Chooser, fullest, one_by_one
from libs.ras.zones_together import choose_together


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Zones:
    """The Z zones of a region. Servers of one zone are open to the same reservations, by the domains chosen for them.

    of    (S,) int    the zone of each server
    open  (R, Z) bool whether a reservation may have servers of a zone
    gone  (R,) bool   whether a reservation is to leave a domain that is among those with most of its servers
    """

    of: Indices
    open: Bools
    gone: Bools

    def with_open(self, servers: int) -> Zones:
        """Return the zones with more servers at the end, which are open to every reservation."""
        if not servers:
            return self
        of = np.append(self.of, np.full(servers, self.open.shape[1], self.of.dtype))
        return replace(self, of=of, open=np.append(self.open, np.ones((len(self.open), 1), bool), axis=1))


def choose_zones(
    snapshot: FleetSnapshot,
    binding: Indices | None = None,
    *,
    stay: Bools | None = None,
    time_s_max: float = math.inf,
    cancelled: Callable[[], bool] | None = None,
) -> Zones | None:
    """Choose domains for each reservation with a `domains_max`, as many as it allows. None: no reservation has one.

    binding     (S,) the servers that reservations hold; None: the targets
    stay        (R,) reservations that keep their fullest domains, even if these cannot give the capacity
    time_s_max  seconds after which to refine the choice no more
    cancelled   returns whether to refine it no more

    A reservation keeps the domains in which it holds most servers, unless they cannot give its capacity. Otherwise it
    gets those that leave it the least lack. Of equally good ones it gets those with most RRU that need no move. One
    reservation after the other claims servers: the higher class first, then the larger capacity. If one is then short
    and need not be, others of its class let it choose first. Then all are chosen together.
    """
    limited = [kind for kind in limited_kinds(snapshot) if np.isfinite(kind.domains_max).any()]
    if not limited:
        return None
    q = snapshot.reservations
    held = snapshot.servers.target if binding is None else binding
    some = np.flatnonzero(np.any([np.isfinite(kind.domains_max) for kind in limited], axis=0)).astype(np.int32)
    counts = [servers_by_domain(snapshot, kind, held) for kind in limited]
    stays = np.zeros(len(q), bool) if stay is None else stay
    until = time.perf_counter() + time_s_max

    def ends() -> bool:
        return time.perf_counter() >= until or (cancelled is not None and cancelled())

    first = one_by_one(snapshot, limited, some, held, stays, ends)
    opened = choose_together(
        snapshot,
        limited,
        first,
        some,
        Chooser(snapshot, limited, held).usable,
        held,
        stays,
        until=until,
        cancelled=cancelled,
    )
    gone = np.zeros(len(q), bool)
    for kind, had, may in zip(limited, counts, opened, strict=True):
        for r in np.flatnonzero(np.isfinite(kind.domains_max)).tolist():
            gone[r] |= bool((~may[r][fullest(had[r, : kind.placed], kind, r)]).any())
    return _zones(limited, opened, gone)


def _zones(limited: list[LimitedKind], opened: Sequence[Bools], gone: Bools) -> Zones:
    """Return the zones: servers whose domains are open to the same reservations are in one zone."""
    zone = np.zeros(len(limited[0].of), np.int64)
    table = np.ones((len(opened[0]), 1), bool)
    for kind, may in zip(limited, opened, strict=True):
        columns, group = np.unique(may, axis=1, return_inverse=True)
        pairs, zone = np.unique(zone * columns.shape[1] + group.reshape(-1)[kind.of], return_inverse=True)
        was, now = np.divmod(pairs, columns.shape[1])
        table = table[:, was] & columns[:, now]
    return Zones(of=zone.astype(np.int32), open=table, gone=gone)


def scattered(snapshot: FleetSnapshot, target: Indices) -> Bools:
    """Return a (R,) mask of the reservations that `target` (S,) scatters over more domains than their targets do."""
    worse = np.zeros(len(snapshot.reservations), bool)
    for kind in limited_kinds(snapshot):
        had, has = (
            beyond_domains(servers_by_domain(snapshot, kind, binding), kind.placed, kind.domains_max)
            for binding in (snapshot.servers.target, target)
        )
        worse |= has > had
    return worse
