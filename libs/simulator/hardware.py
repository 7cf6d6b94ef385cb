"""Eight real machines, oldest first.

Source of hardware.csv: Teads' EC2 instances dataset (Apache 2.0); watts are those at full load. The architecture is
what the CPU's name says.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareFigures:
    """What its maker and the dataset say of a machine; `release` is a year and month."""

    name: str
    release: str
    vcpu: int
    memory_gb: float
    watts: float
    cpu: str
    architecture: str


@cache
def hardware() -> tuple[HardwareFigures, ...]:
    """All eight, oldest first."""
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
    """RRU of these types (all) for a reservation that counts compute: vCPUs, relative to the smallest of the eight.

    A plain rule that needs no measurement. What a type is worth to a service depends on the service: measure it.
    """
    smallest = min(figures.vcpu for figures in hardware())
    return {figures.name: figures.vcpu / smallest for figures in (hardware() if types is None else types)}
