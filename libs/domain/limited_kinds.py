"""The kinds of domain that limits of reservations name, with the domain of each server."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats, Indices, Names
from libs.domain.domain_kind import UNPLACED, unplaced_name
from libs.domain.domain_limits import MSB, limit_kinds, rru_of
from libs.domain.fleet import FleetSnapshot


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LimitedKind:
    """A kind of domain that a limit of some reservation names, with the limits of all R reservations.

    column       its place on the second axis of `Reservations.domain_limits`
    domains      (N,) str    the last is for servers without a place, if there are any
    placed       number of domains without the last one for servers without a place
    of           (S,) int    the domain of each server
    domains_max  (R,) float  most domains; inf: no limit. Servers without a place count as outside of every domain
    servers_max  (R,) float  most servers in one domain
    rru_max      (R,) RRU    most RRU in one domain
    preferred    (R,) float  most domains without a price; inf: no preference
    """

    kind: str
    column: int
    domains: Names
    placed: int
    of: Indices
    domains_max: Floats
    servers_max: Floats
    rru_max: Floats
    preferred: Floats

    @property
    def counts(self) -> bool:
        """Return whether some limit depends on what is in each domain."""
        return any(bool(np.isfinite(one).any()) for one in (self.servers_max, self.rru_max, self.preferred))


def limited_kinds(snapshot: FleetSnapshot) -> tuple[LimitedKind, ...]:
    """Return the kinds of domain for which some reservation has a limit, `msb_share_max` included.

    The datacenters that a reservation names are no limit of this sort: `Reservations.allowed` has them.
    """
    q, topology, found = snapshot.reservations, snapshot.topology, []
    for column, kind in enumerate(limit_kinds(topology.kinds)):
        domains_max, servers_max, share_max, preferred = q.domain_limits[:, column].T
        rru_max = q.msb_limit_rru if kind == MSB else rru_of(share_max, q.capacity_rru)
        if not np.isfinite([domains_max, servers_max, rru_max, preferred]).any():
            continue
        domains, of = _places(snapshot, column)
        placed, unplaced = len(domains), of == UNPLACED
        if unplaced.any():
            domains = np.append(domains, unplaced_name(kind))
            of = np.where(unplaced, placed, of).astype(of.dtype)
        found.append(
            LimitedKind(
                kind=kind,
                column=column,
                domains=domains,
                placed=placed,
                of=of,
                domains_max=domains_max,
                servers_max=servers_max,
                rru_max=rru_max,
                preferred=preferred,
            )
        )
    return tuple(found)


def _places(snapshot: FleetSnapshot, column: int) -> tuple[Names, Indices]:
    """Return the domains of a kind, and the domain (S,) of each server or UNPLACED."""
    topology = snapshot.topology
    if column == 0:
        return topology.datacenters, snapshot.server_datacenter
    if column == 1:
        return topology.msbs, snapshot.server_msb
    return topology.kinds[column - 2].domains, snapshot.servers.domain[:, column - 2]
