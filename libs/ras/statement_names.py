"""Name the scopes, partitions, dimensions and priorities of the statement of a region."""

from __future__ import annotations

from libs.domain.domain_kind import MSB_KIND

RESERVATION, MSB, HARDWARE_TYPE = "reservation", MSB_KIND, "hardware type"
RRU, MOVE_COST, COUNT, PREEMPTION = "RRU", "move cost", "count", "preemption"
SURPLUS, DATACENTER, RACK, ZONE = "weighted count", "datacenter", "rack", "zone"
UNBOUND, POWER_W, POWER_KW, GAIN_W = "free servers", "power", "power in kW", "power of new servers"
PENALTY, OBJECTIVE = 0, 1
"""Priorities of goals: PENALTY for the penalties, and OBJECTIVE for all other costs.

Without `fix_first` of the policy, the solve minimises the sum of all goals.
"""
