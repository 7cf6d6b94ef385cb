"""Hold the settings of price-and-round."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from libs.assignment.language.errors import BadValues


class Granularity(StrEnum):
    """The containers that share a price."""

    SHAPE = "SHAPE"
    """Containers of one shape."""
    GLOBAL = "GLOBAL"
    """All containers: fewer prices, found sooner, and one to two per cent worse in the paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceSettings:
    """Settings of the solver price.

    granularity   the containers that share a price
    group_prices  whether limits of groups (anti-affinity) that bind have prices too; the relaxation is then solved as a
                  linear program
    rent          price, as a share of the least worth, for an object that blocks a dimension which it does not need
                  and other containers lack: the paper's GPU penalty
    tries         most containers of one shape that are tried for one object
    rounds        most rounds in which the remaining room is priced again and filled
    rising        whether to exchange objects, at any loss of the goal, until the placed share does not fall from one
                  priority (up to 16 distinct worths) to the next higher one
    polish        whether local search improves the answer if prices do not cover all goals
    """

    granularity: Granularity = Granularity.SHAPE
    group_prices: bool = False
    rent: float = 0.01
    tries: int = 32
    rounds: int = 3
    rising: bool = False
    polish: bool = True

    def __post_init__(self) -> None:
        """Raise BadValues if `rent`, `tries` or `rounds` is out of its range."""
        if not 0.0 <= self.rent <= 1.0:
            raise BadValues(f"settings: rent = {self.rent}; expected a share from 0 to 1")
        if self.tries < 1:
            raise BadValues(f"settings: tries = {self.tries}; expected 1 or more")
        if self.rounds < 0:
            raise BadValues(f"settings: rounds = {self.rounds}; expected 0 or more")
