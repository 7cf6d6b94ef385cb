"""The power of a region's domains as it is now."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Names
from libs.domain.domain_kind import MSB_KIND
from libs.domain.power import DomainPower, Power, PowerLimit, listed_watts, variance_of
from libs.store.fleet.hardware_types import load_sizes
from libs.store.fleet.known_names import known_kinds, known_msbs
from libs.store.fleet.power_limits import Counted, count_by_domain, load_power_limits
from libs.store.platform.database import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionPower:
    """The power of a region.

    limits      what operators set, also for domains that the region lacks
    domains     its MSBs, and the other domains with a limit, in order of kind and name
    variance    over MSBs, of the W drawn as shares of the W of all servers in full; by current bindings, and by targets
    untold      hardware types of its servers without watts, which count 0 W
    """

    limits: tuple[PowerLimit, ...]
    generation: int
    domains: tuple[DomainPower, ...]
    current_variance: float | None
    target_variance: float | None
    untold: tuple[str, ...]


def load_region_power(tx: Transaction, region_id: int) -> RegionPower:
    """Return the power of a region. It counts the servers of each MSB, and of each kind of domain with a limit."""
    limits, generation = load_power_limits(tx, region_id)
    of = {(one.kind, one.domain): one for one in limits}
    kinds = [MSB_KIND, *(kind for kind in known_kinds(tx, region_id) if any(one.kind == kind for one in limits))]
    counted: dict[tuple[str, str], list[Counted]] = {(MSB_KIND, name): [] for name in known_msbs(tx, region_id)}
    for kind in kinds:
        names = None if kind == MSB_KIND else [one.domain for one in limits if one.kind == kind]
        for one in count_by_domain(tx, region_id, kind, names):
            counted.setdefault((kind, one.domain), []).append(one)
    types: Names = np.array(sorted({one.hardware_type for each in counted.values() for one in each}), object)
    power = listed_watts(types, load_sizes(tx, types), limits)
    watts = _by_type(types, power)
    domains = tuple(
        _domain(kind, name, counted[kind, name], watts, of.get((kind, name)))
        for kind, name in sorted(counted, key=lambda key: (key[0] != MSB_KIND, key))
    )
    msbs = [one for one in domains if one.kind == MSB_KIND]
    full = np.array([one.full_w for one in msbs])
    return RegionPower(
        limits=limits,
        generation=generation,
        domains=domains,
        current_variance=variance_of(np.array([one.current_w for one in msbs]), full),
        target_variance=variance_of(np.array([one.target_w for one in msbs]), full),
        untold=tuple(name for name, (_, most) in watts.items() if most == 0),
    )


def _by_type(types: Names, power: Power | None) -> dict[str, tuple[float, float]]:
    if power is None:
        return {str(name): (0.0, 0.0) for name in types}
    return {str(t): (float(i), float(f)) for t, i, f in zip(types, power.idle_w, power.full_w, strict=True)}


def _domain(
    kind: str, name: str, each: list[Counted], watts: dict[str, tuple[float, float]], limit: PowerLimit | None
) -> DomainPower:
    idle = sum(one.servers * watts[one.hardware_type][0] for one in each)
    gain = [(one, watts[one.hardware_type][1] - watts[one.hardware_type][0]) for one in each]
    return DomainPower(
        kind=kind,
        domain=name,
        current_w=idle + sum(one.current * more for one, more in gain),
        target_w=idle + sum(one.targeted * more for one, more in gain),
        full_w=idle + sum(one.servers * more for one, more in gain),
        limit_w=None if limit is None else limit.limit_w,
        headroom=None if limit is None else limit.headroom,
    )
