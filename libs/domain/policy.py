"""The policy of a region: the costs that the solver weighs, and the sizes of the buffers. Operators set it."""

from __future__ import annotations

from dataclasses import dataclass, field

COST_MAX = 1e9
"""The largest cost that the API accepts."""


REBUILD_AFTER_S_MAX = 30 * 86400.0
"""The longest patience with a lost MSB that the API accepts: 30 days, in seconds."""
BOOKING_HORIZON_S_MAX = 365 * 86400.0
"""The longest horizon of bookings that the API accepts: a year, in seconds."""
BOOKING_LEAD_S_MAX = 7 * 86400.0
"""The longest time between the beginning and the start of a reservation that the API accepts: 7 days, in seconds."""


def _cost(default: float, description: str) -> float:
    """Declare a field that is a cost, in the currency of the policy."""
    return field(default=default, metadata={"description": description, "bounds": {"ge": 0, "le": COST_MAX}})


def _share(default: float, description: str, *, simulated: bool = True, **bounds: float) -> float:
    """Declare a field that is a fraction. `simulated` allows a what-if to assume another value."""
    return field(
        default=default,
        metadata={"description": description, "bounds": {"ge": 0, **bounds}, "simulated": simulated},
    )


def _seconds(default: float, most: float, description: str, *, simulated: bool = False) -> float:
    """Declare a field that is a time of at most `most` seconds. `simulated` allows a what-if another value."""
    return field(
        default=default,
        metadata={"description": description, "bounds": {"ge": 0, "le": most}, "simulated": simulated},
    )


def _switch(default: bool, description: str) -> bool:
    """Declare a field that is True or False."""
    return field(default=default, metadata={"description": description, "bounds": {}})


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionPolicy:
    """Costs and tolerances of the RAS model (RAS, table 1), and the service's additions.

    The defaults are those of the interchange format. The format has no surplus_cost, whose default is 12. Costs are in
    one arbitrary currency, per server or per cost unit of RRU. One RRU of a reservation counts the fewest cost units
    that give it (docs/designs/0033). In a region file without cost units it counts 1, as the format says. In the
    paper's letters move_cost_idle and move_cost_in_use are M_s, spread_cost is beta, buffer_cost tau and
    affinity_tolerance theta.

    This is the only declaration of a cost. The models of the API are made from it (libs/web/policy_model.py), and
    files, tables, digests and audit entries go through its fields.
    """

    move_cost_idle: float = _cost(1.0, "Cost of moving a server without running containers")
    move_cost_in_use: float = _cost(10.0, "Cost of moving a server with running containers")
    spread_cost: float = _cost(2.0, "Cost per cost unit of RRU above a spread limit")
    buffer_cost: float = _cost(5.0, "Cost per cost unit of embedded buffer")
    locality_cost: float = _cost(50.0, "Cost of each domain of a kind beyond those that a reservation prefers")
    """As much as five moves in use (docs/designs/0062)."""
    affinity_tolerance: float = _share(0.05, "Tolerated deviation from an affinity share, of the capacity", le=1)
    shortfall_cost: float = _cost(1000.0, "Cost per cost unit of missing capacity")
    """The capacity includes the embedded buffer."""
    affinity_cost: float = _cost(500.0, "Cost per cost unit of RRU outside the affinity band")
    power_balance_cost: float = _cost(0.0, "Cost per kW that an MSB draws above its even share, in steps; 0: none")
    """The full cost applies from 8 percentage points above the even share (docs/designs/0055)."""
    uplink_cost: float = _cost(5.0, "Cost per Gbit/s that a rack sends above the limit of its uplink")
    """Racks have a limit only if operators set it (docs/designs/0063)."""
    shared_buffer_share: float = _share(
        0.0, "Share of each hardware type to keep as its shared buffer; 0: none", simulated=False, lt=1
    )
    """A change to 0 deletes the shared buffers. A what-if cannot assume another value, because resizing the shared
    buffers writes reservations.
    """
    surplus_cost: float = _cost(
        12.0, "Cost of a server that a reservation holds above the fewest that could give its capacity"
    )
    """Above move_cost_in_use, so that a shrink gives back servers in use too. Region files without it mean 0: the
    interchange format has no such cost (libs/interchange/files/policy.py).
    """
    daily_churn_share: float = _share(
        0.02, "Share of the region's servers in use that plans may preempt within 24 hours", le=1
    )
    """The churn budget (docs/designs/0025). Failures, retirements and servers that a reservation gives back do not
    count. Region files without these three shares mean 1, which limits nothing.
    """
    solve_churn_share: float = _share(
        0.01, "Share of the region's servers in use that one solve may choose to preempt", le=1
    )
    reservation_churn_share: float = _share(
        0.1, "Share of a reservation's servers in use that plans may preempt within 24 hours", le=1
    )
    rack_phase_share: float = _share(
        0.1,
        "Share of reservations, the ones with the worst racks, that the second phase of a solve spreads; 0: no such "
        "phase",
        le=1,
    )
    """Source: RAS, 4.1.3. A share above 0 allows at least one reservation (docs/designs/0048)."""
    rebuild_after_s: float = _seconds(
        14400.0,
        REBUILD_AFTER_S_MAX,
        "Seconds after the loss of an MSB before the embedded buffers that it spent are rebuilt",
        simulated=True,
    )
    """Four hours. Most MSBs come back sooner, and what is rebuilt must then be given back (docs/designs/0024)."""
    booking_horizon_s: float = _seconds(
        3024000.0,
        BOOKING_HORIZON_S_MAX,
        "Seconds ahead within which a reservation's start is a promise: servers are booked for it",
    )
    """35 days. Booked servers serve only what ends before them, so a longer horizon keeps more of them idle
    (docs/designs/0056).
    """
    booking_lead_s: float = _seconds(
        3600.0, BOOKING_LEAD_S_MAX, "Seconds before its start in which a reservation's servers join it"
    )
    fix_first: bool = _switch(True, "Repair shortfalls and affinity violations before weighing any other cost")
    """True: repair any shortfall, however small the gain. False: minimise the sum of all costs. A shortfall that costs
    less than its repair then stays.
    """
