"""Further kinds of domain beside datacenter, MSB and rack: sets of servers that can be lost together."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Bools, Indices, Names

MSB_KIND = "MSB"
"""The kind of domain that every region has. `DomainKind` names the further ones."""
UNPLACED = -1
"""The domain of a server that has no place of a kind."""
KINDS_MAX, DOMAINS_MAX = 8, 10_000
"""Most further kinds of a region, and most domains of one kind."""
KIND_CHARACTERS_MAX = 40
_KIND = re.compile(f"[a-z][a-z0-9_]{{0,{KIND_CHARACTERS_MAX - 1}}}")
RACK = "rack"
PLACE_KINDS = ("datacenter", "msb", RACK)
"""The kinds of place that every region has, as losses name them."""
TAKEN_KINDS = (*PLACE_KINDS, "server")
"""Names that mean places of every region, so no further kind has them."""
KIND_RULE = (
    f"is not a kind: 1 to {KIND_CHARACTERS_MAX} of a-z, 0-9 and _, a letter first, and none of {', '.join(TAKEN_KINDS)}"
)


def unplaced_name(kind: str) -> str:
    """Return the name of the servers without a place of a kind, which count as one domain."""
    return f"servers without a {kind}"


def domain_words(kind: str, domain: str | None) -> str:
    """Return the name of a domain for a sentence, such as "msb-01" or "network_block block-03"."""
    if kind == MSB_KIND:
        return str(domain)
    return f"the {domain}" if domain == unplaced_name(kind) else f"{kind} {domain}"


def one_of(kind: str) -> str:
    """Return "an MSB", or "a network_block", for a sentence."""
    return f"{'an' if kind == MSB_KIND else 'a'} {kind}"


def is_kind(name: str) -> bool:
    """Return whether a further kind of domain may have this name."""
    return _KIND.fullmatch(name) is not None and name not in TAKEN_KINDS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DomainKind:
    """A further kind of domain, such as network blocks or power rows: sets of servers that can be lost together.

    name      its name, unique within the region
    domains   (N,) str   names, unique within the kind
    """

    name: str
    domains: Names

    def names_of(self, domain: Indices) -> Names:
        """Return the name of each server's domain, (S,) str or None. `domain` is (S,): an index, or UNPLACED."""
        found: Names = np.append(self.domains, np.array([None], object))[domain]
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DomainLoss:
    """The domains of one kind, and the reservations that must survive the loss of any one of them.

    kind      MSB_KIND, or the name of a DomainKind
    domains   (N,) str
    of        (S,) int    the domain of each server
    survives  (R,) bool
    """

    kind: str
    domains: Names
    of: Indices
    survives: Bools

    @property
    def place(self) -> Indices:
        """Return the domain of each server, (S,), or UNPLACED for servers without a place, which `of` has as one."""
        if not len(self.domains) or self.domains[-1] != unplaced_name(self.kind):
            return self.of
        return np.where(self.of == len(self.domains) - 1, UNPLACED, self.of).astype(self.of.dtype)

    def survived_by(self, reservation: Indices) -> Bools:
        """Return whether each reservation (N,) survives the loss, (N,). FREE and DELETED do not."""
        return np.append(self.survives, [False, False])[reservation]  # FREE and DELETED count from the end


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstDomain:
    """The domain of one kind whose loss takes most from a reservation.

    kind     MSB_KIND, or the name of a DomainKind
    domain   its name, or `unplaced_name`; None: the reservation has no capacity
    rru      capacity in it
    lacking  domains of the kind with bound servers that do not count
    lost     domains of the kind with bound servers of which none counts
    """

    kind: str
    domain: str | None
    rru: float
    lacking: int = 0
    lost: int = 0

    @property
    def is_loss(self) -> bool:
        """Return whether exactly one domain of the kind is missing, and as a whole."""
        return self.lacking == self.lost == 1

    @property
    def words(self) -> str:
        """Return its name for a sentence."""
        return domain_words(self.kind, self.domain)
