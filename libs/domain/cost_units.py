"""Cost units: what quotas and approval limits count. Operators set them, so no owner chooses the unit of a limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil, floor

import numpy as np

from libs.domain.arrays import Floats, Indices, Names
from libs.domain.fleet import FleetSnapshot
from libs.domain.reservation import ROUNDING, ReservationSpec

DEFAULT = 1.0
"""Cost units of a server whose hardware type has none."""
SERVERS_MAX = 1e12
"""Upper limit on a number of servers, so that every number of cost units is finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostTable:
    """The cost units of a region's hardware types, and the figures that the size of an embedded buffer depends on.

    units               hardware type -> cost units of one server; absent types count DEFAULT
    msbs                datacenter -> number of its MSBs
    domains             further kind of domain -> number of its domains
    amounts             hardware type -> resource -> amount in one server
    affinity_tolerance  theta of the region's policy
    """

    units: Mapping[str, float]
    msbs: Mapping[str, int]
    affinity_tolerance: float
    domains: Mapping[str, int] = field(default_factory=dict)
    amounts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def of(self, hardware_type: str) -> float:
        """Return the cost units of one server of a hardware type."""
        return self.units.get(hardware_type, DEFAULT)


def most_cost_units(spec: ReservationSpec, table: CostTable) -> float:
    """Return the most cost units that a reservation with this spec may come to hold.

        max_t cost[t] * min(max(k[t] + b[t], sum_d a[t,d]), M h[t])

    k[t]    servers that give the capacity, if all are of type t
    a[t,d]  least number of them in datacenter d, by the lower bounds of the affinity bands
    b[t]    servers of the embedded buffer: those of the fullest MSB, if they are spread over the MSBs as evenly as the
            bands and the allowed datacenters let them; or of the fullest domain of a further kind that is survived, if
            they are spread over its domains evenly; the largest of these; 0 if none. If the bands follow another
            reservation, those of the fullest MSB of the datacenter with fewest
    M h[t]  the most that the hard limit on one MSB lets M MSBs hold

    Each resource that is asked for has such numbers too, and more than the largest may count: see `_most_together`. The
    formula and its limits: docs/designs/0026-units-of-the-operators.md and 0058-vectors-of-resources.md.
    """
    names = [*spec.rru]
    units, rru = np.array([table.of(name) for name in names]), np.array([*spec.rru.values()])
    gives = [rru]
    for resource, asked in spec.resources.items():
        amount = np.array([table.amounts.get(name, {}).get(resource, 0.0) for name in names])
        gives.append(amount * (spec.capacity_rru / asked))

    def cost(of: Floats, beyond_rru: float) -> Floats:
        pairs = zip(rru.tolist(), of.tolist(), strict=True)
        return units * [_servers(spec, own, one, table, beyond_rru) if one > 0 else 0.0 for own, one in pairs]

    return _most_together(np.array(gives), cost) if names else 0.0


def _most_together(gives: Floats, cost: Callable[[Floats, float], Floats]) -> float:
    """Return the most cost units of servers of which none is needless.

    Servers of a type are alike, so all are needed for the same measure. Two bounds follow, and the lower one counts:
    - Each type serves one measure. The dearest choice of a different type for each measure counts.
    - Some measure is given by all servers together, and the last one of them exceeds it by what one server gives. This
      needs types that all give something of each measure.

    gives  (M, T)  what a server of each type gives of each measure, in RRU
    cost   returns the cost units (T,) of the servers that give a measure, if all are of one type, from what one server
           gives (T,), and from what they give beyond what is asked
    """
    each = np.array([cost(of, 0.0) for of in gives])
    if len(gives) == 1:
        return float(each.max())
    from scipy.optimize import linear_sum_assignment  # only requests for resources need it, and it is slow to load

    most = float(each[linear_sum_assignment(each, maximize=True)].sum())
    if (gives > 0).all():
        most = min(most, max(float(cost(of, of.max()).max()) for of in gives))
    return most


def held_cost_units(snapshot: FleetSnapshot, row: int, target: Indices, table: CostTable) -> float:
    """Return the cost units of the servers that the reservation at `row` holds now or gets by `target` (S,).

    Servers that are down or retiring do not count, because operators replace them.
    """
    servers = snapshot.servers
    mine = ((servers.current == row) | (target == row)) & servers.available & ~servers.leaving
    return float(units_of_types(snapshot, table)[servers.hardware_type[mine]].sum())


def units_of_types(snapshot: FleetSnapshot, table: CostTable) -> Floats:
    """Return the (T,) cost units of one server of each hardware type of the snapshot."""
    return listed_units(snapshot.hardware_types, table.units)


def listed_units(types: Names, units: Mapping[str, float]) -> Floats:
    """Return the (T,) cost units of one server of each of `types`; DEFAULT for those that `units` lacks."""
    return np.array([units.get(str(name), DEFAULT) for name in types], np.float64)


def _servers(spec: ReservationSpec, rru: float, gives_rru: float, table: CostTable, beyond_rru: float) -> float:
    """Return the most servers that a reservation may come to hold, if each is worth `rru`.

    gives_rru   what each gives of a measure, where `capacity_rru` stands for all that is asked of it
    beyond_rru  what they give beyond what is asked
    """
    capacity = spec.capacity_rru
    msbs = {name: number for name, number in table.msbs.items() if not spec.datacenters or name in spec.datacenters}
    bands = {name: share for name, share in spec.affinity.items() if not spec.datacenters or name in spec.datacenters}
    tolerance = table.affinity_tolerance
    least = {name: _count(max(0.0, share - tolerance) * capacity / rru) for name, share in bands.items()}
    most = {name: _room((share + tolerance) * capacity / rru) for name, share in bands.items()}
    needed = _count((capacity + beyond_rru) / gives_rru)
    fullest = _fullest_msb(needed, msbs, least, most) if spec.survives_msb_loss else 0.0
    if spec.affinity_follows is not None and spec.survives_msb_loss:  # the other one may come to lie in any datacenter
        fullest = max(fullest, _count(needed / max(1, min(msbs.values(), default=1) - 1)))
    for kind in spec.survives_loss_of:
        fullest = max(fullest, _count(needed / max(1, table.domains.get(kind, 1) - 1)))
    limit = np.inf
    if spec.msb_share_max is not None:
        limit = sum(msbs.values()) * _room(spec.msb_share_max * capacity / rru)
    return min(SERVERS_MAX, max(needed + fullest, sum(least.values())), limit)


def _fullest_msb(
    needed: float, msbs: Mapping[str, int], least: Mapping[str, float], most: Mapping[str, float]
) -> float:
    """Return the fewest servers x of the fullest MSB with which `needed` servers survive its loss.

        sum_d min(most[d], msbs[d] x)  >=  needed + x,    msbs[d] x >= least[d]    for all d

    If no x will do, the bands cannot hold, and x is that without `most`.
    """
    lowest = max((_count(number / max(1, msbs.get(name, 1))) for name, number in least.items()), default=0.0)

    evenly = max(lowest, _count(needed / max(1, sum(msbs.values()) - 1)))
    if not most:
        return evenly

    def others(x: float) -> float:
        return sum(min(most.get(name, np.inf), number * x) for name, number in msbs.items()) - x

    full, free, found = 0.0, sum(msbs.values()), []
    for name in sorted(msbs, key=lambda name: most.get(name, np.inf) / max(1, msbs[name])):
        # With x, the datacenters before this one are full, and those from here on are not.
        found.append(max(lowest, _count((needed - full) / max(1, free - 1))))
        full, free = full + most.get(name, np.inf), free - msbs[name]
    fits = [x for x in found if others(x) >= needed]
    return min(fits, default=evenly)


def _room(servers: float) -> float:
    """Return a number of servers, rounded down unless it falls short of a whole number by rounding only."""
    return float(floor(min(servers, SERVERS_MAX) * (1.0 + ROUNDING)))


def _count(servers: float) -> float:
    """Return a number of servers, rounded up unless it exceeds a whole number by rounding only; 0 if below."""
    return float(ceil(min(max(servers, 0.0), SERVERS_MAX) * (1.0 - ROUNDING)))
