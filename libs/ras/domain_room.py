"""Count what the touched reservations of a commit hold in the domains that their hard limits name."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Floats, Indices
from libs.domain.plan_changes import NONE, LimitedDomains
from libs.plan_check.hard_limits import beyond_domains


class DomainRoom:
    """The servers and RRU by domain of one kind, while changes are made and undone one at a time.

    source, to    (changes,) int   as of PlanChanges
    rounding_rru  (Q,) RRU that count as none
    """

    def __init__(self, limited: LimitedDomains, source: Indices, to: Indices, rounding_rru: Floats) -> None:
        self._limited, self._source, self._to = limited, source, to
        self.servers, self.load = limited.servers.copy(), limited.load.copy()
        self._servers_max = np.maximum(limited.servers, limited.servers_max[:, None])
        self._load_max = np.maximum(limited.load, limited.rru_max[:, None]) + rounding_rru[:, None]
        self._beyond_max = beyond_domains(limited.servers, limited.placed, limited.domains_max)
        # An arrival in one of the fullest domains of before takes no reservation to more domains.
        rank = np.argsort(np.argsort(-limited.servers[:, : limited.placed], axis=1, kind="stable"), axis=1)
        self._home = np.zeros(limited.servers.shape, bool)
        self._home[:, : limited.placed] = (rank < limited.domains_max[:, None]) & (
            (limited.servers[:, : limited.placed] > 0) | (limited.servers.sum(1) == 0)[:, None]
        )

    def enter(self, n: int, sign: float, source_rru: float, to_rru: float) -> None:
        """Make change `n` if `sign` is 1, or undo it if `sign` is -1."""
        if not self._limited.counts[n]:
            return
        d = self._limited.of[n]
        for r, by, rru in ((self._source[n], -sign, source_rru), (self._to[n], sign, to_rru)):
            if r != NONE:
                self.servers[r, d] += int(by)
                self.load[r, d] += by * rru

    def is_crowded(self, r: int) -> bool:
        """Return whether reservation `r` breaks a limit, and further than before."""
        over = (self.servers[r] > self._servers_max[r]) | (self.load[r] > self._load_max[r])
        return bool(over.any()) or self._is_scattered(r)

    def turns_away(self, n: int, r: int) -> bool:
        """Return whether the arrival `n` of reservation `r` has to go, for its domain or for the number of domains."""
        d = self._limited.of[n]
        if self.servers[r, d] > self._servers_max[r, d] or self.load[r, d] > self._load_max[r, d]:
            return True
        return self._is_scattered(r) and not self._home[r, d]

    def _is_scattered(self, r: int) -> bool:
        one = self._limited
        if not np.isfinite(one.domains_max[r]):
            return False
        row = slice(r, r + 1)
        return bool(beyond_domains(self.servers[row], one.placed, one.domains_max[row])[0] > self._beyond_max[r])
