"""Tell which reservations would be short if a domain went now, before any solve or move could help. Pure."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Floats
from libs.domain.loss_outlook import LossGround, LossOutlook, ShortAfterLoss
from libs.domain.reservation import ROUNDING


def foresee_losses(ground: LossGround) -> tuple[LossOutlook, ...]:
    """Return the outlook for each domain, in the order of the ground.

    A reservation is short after the loss of a domain if it holds servers there, and its servers elsewhere hold less
    than it is promised. One that is short already, and holds nothing in the domain, does not count: the loss takes
    nothing from it. A request that waits is promised only as far as it was granted.
    """
    total = ground.rows_rru.sum(1)
    held = ground.least(total)
    missing_now = np.maximum(ground.granted_rru - held, 0.0)
    least_missing = ROUNDING * np.maximum(ground.granted_rru, held)
    by_domain = np.ascontiguousarray(ground.rows_rru.T)
    return tuple(_outlook(ground, m, total - by_domain[m], least_missing, missing_now) for m in range(len(by_domain)))


def _outlook(ground: LossGround, m: int, left: Floats, least_missing: Floats, missing_now: Floats) -> LossOutlook:
    """Return the outlook for domain `m`.

    left            (Q,) RRU of the rows after the loss
    least_missing   (R,) RRU; less may come from rounding
    missing_now     (R,) RRU
    """
    is_hit = ground.held_rru[:, m] > 0
    missing = ground.granted_rru - ground.least(left)
    rows = np.flatnonzero(is_hit & (missing > least_missing))
    rows = rows[np.argsort(-missing[rows], kind="stable")]
    return LossOutlook(
        kind=ground.kind,
        domain=str(ground.domain[m]),
        datacenter=ground.datacenter[m],
        servers=int(ground.servers[m]),
        down=int(ground.down[m]),
        in_use=int(ground.in_use[m]),
        spare=int(ground.spare[m]),
        reservations=int(is_hit.sum()),
        broken=int(ground.survives[rows].sum()),
        missing_rru=float((missing[rows] - missing_now[rows]).sum()),
        short=tuple(
            ShortAfterLoss(
                reservation=str(ground.reservation[r]),
                owner=str(ground.owner[r]),
                survives=bool(ground.survives[r]),
                capacity_rru=float(ground.capacity_rru[r]),
                granted_rru=float(ground.granted_rru[r]),
                lost_rru=float(ground.held_rru[r, m]),
                missing_now_rru=float(missing_now[r]),
                missing_rru=float(missing[r]),
            )
            for r in rows.tolist()
        ),
    )
