"""List the nouns of the platform."""

from __future__ import annotations

from enum import StrEnum


class Noun(StrEnum):
    """A noun to show, as in /v1/NOUN."""

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
    WAITS = "waits"
    LOANS = "loans"
    URGENT_DEPARTURES = "urgent-departures"
    IMPORTS = "imports"
    MSB_LOSSES = "msb-losses"
    DOMAIN_LOSSES = "domain-losses"
    CHANCES = "chances"
    SPARES = "spares"
    SERVER_COUNTS = "server-counts"
    SUPPLY = "supply"
    AUDIT_ENTRIES = "audit-entries"
    TOKENS = "tokens"
