"""Random failures of servers, racks and MSBs at the rates of RAS, 3.3.

At any time, 1 % of servers are down. In a year, 0.5 % of power rows and 2 % of MSBs fail. The topology has no power
rows, so a rack stands for one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Names
from libs.domain.fleet import Topology
from libs.domain.unavailability import UnavailabilityScope

_YEAR_S = 365 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRates:
    """Rates and mean durations of failures. Durations are exponentially distributed.

    server_share_down                share of servers that are down at a time
    racks_per_year, msbs_per_year    share of racks, and of MSBs, that fail in a year
    """

    server_share_down: float = 0.01
    racks_per_year: float = 0.005
    msbs_per_year: float = 0.02
    server_repair_s: float = 4 * 3600.0
    rack_repair_s: float = 4 * 3600.0
    msb_repair_s: float = 2 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An unplanned event from `at_s` to `over_s`, in seconds after the start. It may end after the simulation does."""

    at_s: float
    over_s: float
    scope: UnavailabilityScope
    name: str


def draw_failures(
    topology: Topology, servers: Names, *, duration_s: float, rates: FailureRates = FailureRates(), seed: int = 0
) -> tuple[Failure, ...]:
    """Return the failures in order of time. The same arguments give the same failures. Nothing is down at the start."""
    random = np.random.default_rng([seed, 3])
    # A server is up and down in turns: share down = repair / (repair + uptime). It fails once per `uptime` seconds.
    server_rate = rates.server_share_down / (1 - rates.server_share_down) / rates.server_repair_s
    found: list[Failure] = []
    for scope, names, rate, repair_s in (
        (UnavailabilityScope.SERVER, servers, server_rate, rates.server_repair_s),
        (UnavailabilityScope.RACK, topology.racks, rates.racks_per_year / _YEAR_S, rates.rack_repair_s),
        (UnavailabilityScope.MSB, topology.msbs, rates.msbs_per_year / _YEAR_S, rates.msb_repair_s),
    ):
        number = random.poisson(rate * len(names) * duration_s)
        at_s, down_s = random.uniform(0, duration_s, number), random.exponential(repair_s, number)
        which = random.integers(0, len(names), number)
        over: dict[int, float] = {}
        for i in np.argsort(at_s).tolist():
            thing = int(which[i])
            if over.get(thing, 0.0) > at_s[i]:  # a thing that is down cannot fail
                continue
            over[thing] = float(at_s[i] + down_s[i])
            found.append(Failure(at_s=float(at_s[i]), over_s=over[thing], scope=scope, name=str(names[thing])))
    return tuple(sorted(found, key=lambda failure: (failure.at_s, failure.name)))
