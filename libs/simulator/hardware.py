"""Eight real machines, oldest first.

Source of hardware.csv: Teads' EC2 instances dataset (Apache 2.0). Watts are at full load. The architecture follows from
the name of the CPU.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareFigures:
    """Figures of a machine from its maker and the dataset; `release` is a year and month."""

    name: str
    release: str
    vcpu: int
    memory_gb: float
    watts: float
    cpu: str
    architecture: str


@cache
def hardware() -> tuple[HardwareFigures, ...]:
    """Return all eight machines, oldest first."""
    with files("libs.simulator").joinpath("hardware.csv").open() as rows:
        return tuple(
            HardwareFigures(
                name=row["name"],
                release=row["release"],
                vcpu=int(row["vcpu"]),
                memory_gb=float(row["memory_gb"]),
                watts=float(row["watts"]),
                cpu=row["cpu"],
                architecture=row["architecture"],
            )
            for row in csv.DictReader(rows)
        )


def vcpu_rru(types: Iterable[HardwareFigures] | None = None) -> dict[str, float]:
    """Return the RRU of these types, by name; None means all eight.

    The RRU of a type is its vCPUs relative to the smallest of the eight. This rule needs no measurement and suits
    reservations that count compute. The true value of a type differs between services and has to be measured.
    """
    smallest = min(figures.vcpu for figures in hardware())
    return {figures.name: figures.vcpu / smallest for figures in (hardware() if types is None else types)}
