"""Report the uplinks of racks in a what-if (docs/designs/0063-rack-uplinks.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats, Indices
from libs.domain.fleet import FleetSnapshot
from libs.domain.uplinks import by_rack, sent_gbit
from libs.ras.power_report import SHOWN_MAX

_ROUNDING_GBIT = 1e-6
"""Differences up to this many Gbit/s are rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UplinksAbove:
    """The racks above the limits of their uplinks at one moment, and the Gbit/s above these limits, added up."""

    racks: int
    gbit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RackDifference:
    """A rack with a limit on its uplink, now or in a what-if.

    In the names of fields, `now` means the present region. `at_once` means the what-if before any server moves, and
    `after` the what-if with the answer. Servers send by their targets.

    limit_gbit  Gbit/s that the rack may send; None: it has no limit
    sent_gbit   Gbit/s that its servers send
    free_gbit   Gbit/s below the limit; negative: so many are above it; None: there is no limit
    """

    rack: str
    limit_gbit_now: float | None
    sent_gbit_now: float
    free_gbit_now: float | None
    limit_gbit: float | None
    sent_gbit_at_once: float
    free_gbit_at_once: float | None
    sent_gbit_after: float
    free_gbit_after: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UplinksDifference:
    """The uplinks of a region, now and in a what-if.

    limits  number of racks with a limit in the what-if
    racks   the first SHOWN_MAX racks with a limit now or in the what-if: those whose limits change come first, then
            those with least to spare; None: omitted, as on a page of simulations
    """

    limits: int
    now: UplinksAbove
    at_once: UplinksAbove
    after: UplinksAbove
    racks: tuple[RackDifference, ...] | None


def compare_uplinks(before: FleetSnapshot, imagined: FleetSnapshot, target: Indices) -> UplinksDifference | None:
    """Compare the racks of the what-if `imagined`: now, at once, and with its answer `target` (S',).

    None: no rack has a limit, neither now nor in the what-if. Racks that it adds come last and send nothing now.
    """
    racks = len(imagined.topology.racks)
    limit, had = (np.full(racks, np.inf) for _ in range(2))
    if imagined.uplinks is not None:
        limit[:] = imagined.uplinks
    if before.uplinks is not None:
        had[: len(before.uplinks)] = before.uplinks
    limited = np.flatnonzero(np.isfinite(limit) | np.isfinite(had))
    if not len(limited):
        return None
    was = np.zeros(racks)
    was[: len(before.topology.racks)] = by_rack(before, sent_gbit(before, before.servers.target))
    shocked, becomes = (
        by_rack(imagined, sent_gbit(imagined, binding)) for binding in (imagined.servers.target, target)
    )
    order = np.lexsort((limited, (limit - becomes)[limited], (had == limit)[limited]))
    return UplinksDifference(
        limits=int(np.isfinite(limit).sum()),
        now=_above(was, had),
        at_once=_above(shocked, limit),
        after=_above(becomes, limit),
        racks=tuple(
            RackDifference(
                rack=str(imagined.topology.racks[row]),
                limit_gbit_now=_known(had[row]),
                sent_gbit_now=float(was[row]),
                free_gbit_now=_known(had[row] - was[row]),
                limit_gbit=_known(limit[row]),
                sent_gbit_at_once=float(shocked[row]),
                free_gbit_at_once=_known(limit[row] - shocked[row]),
                sent_gbit_after=float(becomes[row]),
                free_gbit_after=_known(limit[row] - becomes[row]),
            )
            for row in limited[order[:SHOWN_MAX]].tolist()
        ),
    )


def _known(gbit: float) -> float | None:
    return float(gbit) if np.isfinite(gbit) else None


def _above(sent: Floats, limit: Floats) -> UplinksAbove:
    above = np.maximum(sent - limit, 0.0)
    return UplinksAbove(racks=int((above > _ROUNDING_GBIT).sum()), gbit=float(above.sum()))
