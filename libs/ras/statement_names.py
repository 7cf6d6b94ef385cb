"""Name the scopes, partitions, dimensions and priorities of the statement of a region."""

from __future__ import annotations

from libs.domain.domain_kind import MSB_KIND
from libs.domain.guest import unit_in_words
from libs.domain.resources import Measure

RESERVATION, MSB, HARDWARE_TYPE = "reservation", MSB_KIND, "hardware type"
RRU, MOVE_COST, COUNT, PREEMPTION = "RRU", "move cost", "count", "preemption"
SURPLUS, DATACENTER, RACK, ZONE = "weighted count", "datacenter", "rack", "zone"
UPLINK, BOUND, GBIT = "limited rack", "bound servers", "Gbit/s"
UNBOUND, POWER_KW, GAIN_W = "free servers", "power in kW", "power of new servers"
PENALTY, OBJECTIVE = 0, 1
"""Priorities of goals: PENALTY for the penalties, and OBJECTIVE for all other costs.

Without `fix_first` of the policy, the solve minimises the sum of all goals.
"""


def dimension_of(measure: Measure) -> str:
    """Return the name of the dimension of a measure."""
    return RRU if measure.resource is None else f"resource {unit_in_words(measure.resource)}"


def capacity_name(measure: Measure) -> str:
    """Return the beginning of the names of specs for the capacity in a measure."""
    return "capacity" if measure.resource is None else f"capacity in {unit_in_words(measure.resource)}"
