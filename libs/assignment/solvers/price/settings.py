"""What a caller may choose of price-and-round."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from libs.assignment.language.errors import BadValues


class Granularity(StrEnum):
    """What shares a price."""

    SHAPE = "SHAPE"
    """Containers of one shape."""
    GLOBAL = "GLOBAL"
    """All containers: fewer prices, sooner found, and one to two per cent worse in the paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceSettings:
    """Defaults serve.

    granularity   what shares a price
    group_prices  also price anti-affinity where it binds; the relaxation is then solved as a linear program
    rent          what an object pays, as a share of the least worth, where it stands in the way of a dimension that
                  other containers lack and that it does not need: the paper's GPU penalty
    tries         containers of a shape that are looked at for one object, where there are more
    rounds        times that what is left is priced again and filled
    rising        whether to exchange objects, whatever that costs the goal, until the placed share does not fall
                  from one priority (up to 16 distinct worths) to the next higher one
    polish        whether local search looks for more where prices do not say all
    """

    granularity: Granularity = Granularity.SHAPE
    group_prices: bool = False
    rent: float = 0.01
    tries: int = 32
    rounds: int = 3
    rising: bool = False
    polish: bool = True

    def __post_init__(self) -> None:
        """Numbers in their ranges."""
        if not 0.0 <= self.rent <= 1.0:
            raise BadValues(f"rent = {self.rent}; expected a share from 0 to 1")
        if self.tries < 1:
            raise BadValues(f"tries = {self.tries}; expected 1 or more")
        if self.rounds < 0:
            raise BadValues(f"rounds = {self.rounds}; expected 0 or more")
