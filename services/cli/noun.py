"""What the platform has lists of."""

from __future__ import annotations

from enum import StrEnum


class Noun(StrEnum):
    """What there is to look at, as in /v1/NOUN."""

    REGIONS = "regions"
    HARDWARE_TYPES = "hardware-types"
    RESERVATIONS = "reservations"
    CAPACITY_REQUESTS = "capacity-requests"
    APPROVALS = "approvals"
    QUOTAS = "quotas"
    SERVERS = "servers"
    UNAVAILABILITY_EVENTS = "unavailability-events"
    RETIREMENTS = "retirements"
    SOLVE_RUNS = "solve-runs"
    SIMULATIONS = "simulations"
    PLANS = "plans"
    MOVES = "moves"
    MOVERS = "movers"
    IMPORTS = "imports"
    AUDIT_ENTRIES = "audit-entries"
    TOKENS = "tokens"
