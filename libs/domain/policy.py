"""What a region's operators set: the costs that the solver weighs and the sizes of the buffers."""

from __future__ import annotations

from dataclasses import dataclass, field

COST_MAX = 1e9
"""The largest cost that the API accepts."""


def _cost(default: float, description: str) -> float:
    """Declare a cost, in the currency of the policy."""
    return field(default=default, metadata={"description": description, "bounds": {"ge": 0, "le": COST_MAX}})


def _share(default: float, description: str, *, simulated: bool = True, **bounds: float) -> float:
    """Declare a fraction. simulated: a what-if may imagine another one."""
    return field(
        default=default,
        metadata={"description": description, "bounds": {"ge": 0, **bounds}, "simulated": simulated},
    )


def _switch(default: bool, description: str) -> bool:
    """Declare what is either on or off."""
    return field(default=default, metadata={"description": description, "bounds": {}})


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionPolicy:
    """Costs and tolerances of the RAS model (RAS, table 1), and what the service adds to them.

    The defaults are those of the interchange format. Costs are in one arbitrary currency, per server or per RRU. In
    the paper's letters move_cost_idle and move_cost_in_use are M_s, spread_cost is beta, buffer_cost tau and
    affinity_tolerance theta.

    This is the only declaration of a cost. The models of the API are made from it (libs/web/policy_model.py), and
    files, tables, digests and audit entries go through its fields.
    """

    move_cost_idle: float = _cost(1.0, "Of moving a server without running containers")
    move_cost_in_use: float = _cost(10.0, "Of moving a server with running containers")
    spread_cost: float = _cost(2.0, "Per RRU above a spread limit")
    buffer_cost: float = _cost(5.0, "Per RRU of embedded buffer")
    affinity_tolerance: float = _share(0.05, "A fraction of the reservation's capacity", le=1)
    shortfall_cost: float = _cost(1000.0, "Per RRU of capacity that is not met")
    """The capacity includes the embedded buffer."""
    affinity_cost: float = _cost(500.0, "Per RRU outside the affinity band")
    shared_buffer_share: float = _share(
        0.0, "Share of each hardware type kept as its shared buffer; 0: none", simulated=False, lt=1
    )
    """No what-if imagines another one: to size the shared buffers is a write."""
    fix_first: bool = _switch(True, "What is short or off its affinity is fixed before any other cost is weighed")
    """However little that gains. Off: the sum of all costs counts, and a shortfall that costs less than its repair
    stays.
    """
