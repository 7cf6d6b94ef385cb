"""What a region's operators set: the costs that the solver weighs and the sizes of the buffers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionPolicy:
    """Costs and tolerances of the RAS model (RAS, table 1), and what the service adds to them.

    The defaults are those of the interchange format. Costs are in one arbitrary currency, per server or per RRU.
    """

    move_cost_idle: float = 1.0
    """M_s of a server without running containers."""
    move_cost_in_use: float = 10.0
    """M_s of a server with running containers."""
    spread_cost: float = 2.0
    """beta, per RRU above a spread limit."""
    buffer_cost: float = 5.0
    """tau, per RRU of embedded buffer."""
    affinity_tolerance: float = 0.05
    """theta, a fraction of the reservation's capacity."""
    shortfall_cost: float = 1000.0
    """Per RRU of capacity, buffer included, that is not met."""
    affinity_cost: float = 500.0
    """Per RRU outside the affinity band."""
    shared_buffer_share: float = 0.0
    """Share of each hardware type's servers kept in that type's shared buffer; 0: no shared buffers."""
    fix_first: bool = True
    """Whatever is short or outside its affinity is fixed before anything else is weighed, however little that gains.

    Off: the sum of all costs is what counts, and a shortfall that costs less than mending it stays.
    """
