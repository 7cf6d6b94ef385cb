"""Limits of a reservation on the domains of one kind: how many may or should hold it, and how much each of them."""

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
    """The limits of a reservation for one kind of domain. All are hard but the last. None: no such limit.

    kind               DATACENTER, MSB, or a further kind
    domains_max        most domains that may hold its servers; solves choose which
    servers_max        most of its servers in one domain
    share_max          most of its capacity in one domain, as a fraction
    domains_preferred  most domains without a price; each further one costs the policy's locality_cost
    """

    kind: str
    domains_max: int | None = None
    servers_max: int | None = None
    share_max: float | None = None
    domains_preferred: int | None = None

    @property
    def values(self) -> tuple[float, ...]:
        """Return the limits in order of LIMITS; inf where there is none."""
        given = (getattr(self, name) for name in LIMITS)
        return tuple(np.inf if value is None else float(value) for value in given)


LIMITS = ("domains_max", "servers_max", "share_max", "domains_preferred")
"""The names of the limits, in the order of the last axis of `Reservations.domain_limits`."""
HARD_LIMITS = LIMITS[:3]
SHARES = ("share_max",)
"""The limits that are fractions of the capacity. The others are whole numbers."""


def meaningless_preference(preferred: int | None, most: int | None) -> str | None:
    """Return what is wrong with domains_preferred where domains_max is `most`, and what to do; None: nothing is."""
    if preferred is None or most is None or preferred <= most:
        return None
    return f"is {preferred}, above the hard limit domains_max {most}: give at most {most}, or leave it out"


def limit_kinds(kinds: Sequence[DomainKind]) -> tuple[str, ...]:
    """Return the kinds that limits may name, in the order of the second axis of `Reservations.domain_limits`."""
    return (DATACENTER, MSB, *(kind.name for kind in kinds))


def limits_table(limits: Sequence[DomainLimit], kinds: Sequence[DomainKind]) -> Floats:
    """Return the limits as a table (K, L) of `limit_kinds` by LIMITS. Kinds that the region lacks are left out."""
    by_kind: Mapping[str, DomainLimit] = {limit.kind: limit for limit in limits}
    none = (np.inf,) * len(LIMITS)
    return np.array([by_kind[k].values if k in by_kind else none for k in limit_kinds(kinds)], np.float64)


def limits_in(table: Floats, kinds: Sequence[DomainKind]) -> tuple[DomainLimit, ...]:
    """Return the limits of a table (K, L), the inverse of `limits_table`."""
    found = []
    for kind, values in zip(limit_kinds(kinds), table.tolist(), strict=True):
        given = {name: value for name, value in zip(LIMITS, values, strict=True) if np.isfinite(value)}
        if given:
            whole = {name: value if name in SHARES else int(value) for name, value in given.items()}
            found.append(DomainLimit(kind=kind, **whole))
    return tuple(found)


def rru_of(share: Floats, capacity_rru: Floats) -> Floats:
    """Return the RRU (R,) of shares (R,) of the capacity; inf for a share of inf."""
    limited = np.isfinite(share)
    return np.where(limited, np.where(limited, share, 0.0) * capacity_rru, np.inf)
