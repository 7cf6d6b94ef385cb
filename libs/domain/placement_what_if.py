"""Changes of the world under which a plan is asked for: other supply, regions or traffic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SupplyChange:
    """Another supply in a region at every step: supply * factor + add, and at least 0.

    hardware_type  None: all types; then `add` must be 0
    add            in the type's capacity measure
    """

    region: str
    hardware_type: str | None = None
    factor: float = 1.0
    add: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRegion:
    """A region that the world does not have yet, with its supply by hardware type. Nothing runs there before."""

    region: str
    supply: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductGrowth:
    """More or less traffic of a product at every step: on top of its growth in the inputs. 0.2 is a fifth more."""

    product: str
    growth: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementWhatIf:
    """All changes together. They apply in this order: new regions, supply, growth, lost regions.

    lost  regions without supply, which may serve no traffic and hold no capacity. Services leave them even if their
          residuals are not to be rebalanced.
    """

    regions: tuple[NewRegion, ...] = ()
    supply: tuple[SupplyChange, ...] = ()
    growth: tuple[ProductGrowth, ...] = ()
    lost: tuple[str, ...] = ()


def what_if_of(stored: Mapping[str, Any]) -> PlacementWhatIf:
    """Return the changes of a stored document, as dataclasses.asdict made it."""
    return PlacementWhatIf(
        regions=tuple(NewRegion(**one) for one in stored.get("regions", ())),
        supply=tuple(SupplyChange(**one) for one in stored.get("supply", ())),
        growth=tuple(ProductGrowth(**one) for one in stored.get("growth", ())),
        lost=tuple(stored.get("lost", ())),
    )
