"""Hard limits of a reservation on the domains of one kind: how many may hold it, and how much each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats
from libs.domain.domain_kind import DomainKind

DATACENTER, MSB = "datacenter", "msb"
"""The kinds that every region has. The further kinds of its topology follow them."""
SERVERS_MAX = 10_000_000
"""The largest number of servers or domains that a limit may name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainLimit:
    """The hard limits of a reservation for one kind of domain. None: no such limit.

    kind         DATACENTER, MSB, or a further kind
    domains_max  most domains that may hold its servers; solves choose which
    servers_max  most of its servers in one domain
    share_max    most of its capacity in one domain, as a fraction
    """

    kind: str
    domains_max: int | None = None
    servers_max: int | None = None
    share_max: float | None = None

    @property
    def values(self) -> tuple[float, float, float]:
        """Return the three limits in order of LIMITS; inf where there is none."""
        given = (self.domains_max, self.servers_max, self.share_max)
        return tuple(np.inf if value is None else float(value) for value in given)  # type: ignore[return-value]


LIMITS = ("domains_max", "servers_max", "share_max")
"""The names of the limits, in the order of the last axis of `Reservations.domain_limits`."""


def limit_kinds(kinds: Sequence[DomainKind]) -> tuple[str, ...]:
    """Return the kinds that limits may name, in the order of the second axis of `Reservations.domain_limits`."""
    return (DATACENTER, MSB, *(kind.name for kind in kinds))


def limits_table(limits: Sequence[DomainLimit], kinds: Sequence[DomainKind]) -> Floats:
    """Return the limits as a table (K, 3) of `limit_kinds` by LIMITS. Kinds that the region lacks are left out."""
    by_kind: Mapping[str, DomainLimit] = {limit.kind: limit for limit in limits}
    return np.array([by_kind[k].values if k in by_kind else (np.inf,) * 3 for k in limit_kinds(kinds)], np.float64)


def limits_in(table: Floats, kinds: Sequence[DomainKind]) -> tuple[DomainLimit, ...]:
    """Return the limits of a table (K, 3), the inverse of `limits_table`."""
    found = []
    for kind, (domains, servers, share) in zip(limit_kinds(kinds), table.tolist(), strict=True):
        if np.isfinite([domains, servers, share]).any():
            found.append(
                DomainLimit(
                    kind=kind,
                    domains_max=int(domains) if np.isfinite(domains) else None,
                    servers_max=int(servers) if np.isfinite(servers) else None,
                    share_max=share if np.isfinite(share) else None,
                )
            )
    return tuple(found)


def rru_of(share: Floats, capacity_rru: Floats) -> Floats:
    """Return the RRU (R,) of shares (R,) of the capacity; inf for a share of inf."""
    limited = np.isfinite(share)
    return np.where(limited, np.where(limited, share, 0.0) * capacity_rru, np.inf)
