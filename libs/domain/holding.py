"""The capacity that a reservation holds now. libs.ras.waves.guard reads it to decide which servers may leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """A reservation's promise, and its servers that are up, have joined and are not leaving.

    held_rru   msb_id -> RRU
    """

    reservation_id: int
    reservation: str
    capacity_rru: float
    survives_msb_loss: bool
    held_rru: Mapping[int, float]
