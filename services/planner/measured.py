"""What a plan needs to know of the measurements, whoever keeps them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import numpy as np

from libs.domain.demand import Demand
from libs.domain.world import Observations, Vocabulary
from libs.store.database import Transaction


class Measured(Protocol):
    """Measurements of a window of time, with rows in the order of a vocabulary.

    unknown   what -> how much was left out since the vocabulary lacks a name of it
    """

    @property
    def observations(self) -> Observations:
        """Minute 0 is the window's first; drains and load tests are still in it."""

    @property
    def demand(self) -> Demand:
        """Sums of traces."""

    @property
    def unknown(self) -> Mapping[str, int]:
        """Left out."""


Measure = Callable[[Transaction, Vocabulary, datetime, datetime], Measured]
"""(transaction, names, start, end) -> the measurements from start, a midnight, to before end."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Nothing:
    """No measurements at all."""

    observations: Observations
    demand: Demand
    unknown: Mapping[str, int] = field(default_factory=dict)


def nothing_measured(tx: Transaction, words: Vocabulary, start: datetime, end: datetime) -> Measured:
    """For as long as nobody takes measurements in."""
    K, P, R = len(words.placement_service), len(words.products), len(words.regions)
    none = Observations(minute=np.zeros(0, np.int64), usage=np.zeros((K, R, 0)), traffic=np.zeros((P, R, 0)))
    return Nothing(observations=none, demand=Demand.none(len(words.services), P))
