"""Report how reservations stand after the loss of a domain of each kind that they survive."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from libs.domain.fleet import FleetSnapshot
from libs.domain.reservation import ROUNDING
from libs.ras.evaluate import Coverage


@dataclass(frozen=True, slots=True, kw_only=True)
class LossReport:
    """The reservations that must survive the loss of any one domain of a kind, under a plan.

    kind          MSB, or a further kind such as network_block
    reservations  the number of these reservations
    buffer_rru    the RRU in the largest domain of each of them, added up
    short_rru     reservation -> RRU that it lacks after the worst loss; only reservations that lack some
    """

    kind: str
    reservations: int
    buffer_rru: float
    short_rru: dict[str, float]

    def as_dict(self) -> dict[str, object]:
        """Return the report for JSON."""
        return asdict(self)


def report_losses(snapshot: FleetSnapshot, covered: Coverage) -> tuple[LossReport, ...]:
    """Return a report per kind of loss; () if no reservation names a further kind.

    Without a further kind, the shortfalls of the plan say it all. `covered` is the coverage of the plan.
    """
    q, losses = snapshot.reservations, snapshot.losses
    if len(losses) == 1:
        return ()
    return tuple(
        LossReport(
            kind=loss.kind,
            reservations=int(loss.survives.sum()),
            buffer_rru=float(buffer.sum()),
            short_rru={
                str(q.name[r]): float(missing[r])
                for r in np.flatnonzero(loss.survives & (missing > ROUNDING * q.capacity_rru))
            },
        )
        for loss, buffer, missing in zip(losses, covered.buffers, covered.missing, strict=True)
    )
