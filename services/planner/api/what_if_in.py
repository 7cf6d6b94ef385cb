"""Parse what-ifs of requests: other supply, new and lost regions, and growth of products."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, model_validator

from libs.domain.placement_what_if import NewRegion, PlacementWhatIf, ProductGrowth, SupplyChange
from libs.web.model import Name, Number, RequestModel, SomeName

_MAX = 100
_Amount = Annotated[Number, Field(ge=0, le=1e15)]
_EXAMPLE: dict[str, Any] = {
    "supply": [{"region": "east", "factor": 0.85}],
    "growth": [{"product": "shop", "growth": 0.2}],
    "regions": [{"region": "north", "supply": {"compute": 4000}}],
    "lost": ["west"],
}


class SupplyChangeIn(RequestModel):
    """Another supply in a region, at every step: supply * factor + add, and at least 0."""

    region: SomeName
    hardware_type: SomeName | None = Field(default=None, description="null: all types; then add must be 0")
    factor: Annotated[Number, Field(ge=0, le=1000)] = 1.0
    add: Annotated[Number, Field(ge=-1e15, le=1e15)] = 0.0

    @model_validator(mode="after")
    def _of_a_type(self) -> Self:
        if self.hardware_type is None and self.add:
            raise ValueError("add needs a hardware_type")
        return self


class NewRegionIn(RequestModel):
    """A region that the world does not have, with its supply by hardware type."""

    region: Name
    supply: dict[SomeName, _Amount] = Field(min_length=1, max_length=1000)


class ProductGrowthIn(RequestModel):
    """More traffic of a product at every step, on top of the inputs. 0.2 is a fifth more."""

    product: SomeName
    growth: Annotated[Number, Field(ge=-1, le=100)]


class WhatIfIn(RequestModel):
    """All changes together: new regions first, then supply, growth, and lost regions."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})
    regions: list[NewRegionIn] = Field(default_factory=list, max_length=_MAX)
    supply: list[SupplyChangeIn] = Field(default_factory=list, max_length=_MAX)
    growth: list[ProductGrowthIn] = Field(default_factory=list, max_length=_MAX)
    lost: list[SomeName] = Field(default_factory=list, max_length=_MAX)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not (self.regions or self.supply or self.growth or self.lost):
            raise ValueError("change something: regions, supply, growth or lost")
        return self

    def what_if(self) -> PlacementWhatIf:
        """Return the changes."""
        return PlacementWhatIf(
            regions=tuple(NewRegion(**one.model_dump()) for one in self.regions),
            supply=tuple(SupplyChange(**one.model_dump()) for one in self.supply),
            growth=tuple(ProductGrowth(**one.model_dump()) for one in self.growth),
            lost=tuple(self.lost),
        )
