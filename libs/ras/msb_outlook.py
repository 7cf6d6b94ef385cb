"""Tell which reservations would be short if an MSB went now, before any solve or move could help. Pure."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Bools, Floats
from libs.domain.msb_outlook import LossGround, MsbOutlook, ShortAfterLoss
from libs.domain.reservation import ROUNDING


def foresee_msb_losses(ground: LossGround) -> tuple[MsbOutlook, ...]:
    """Return the outlook for each MSB, in the order of the ground.

    A reservation is short after the loss of an MSB if it holds servers there, and its servers elsewhere hold less than
    it is promised. One that is short already, and holds nothing in the MSB, does not count: the loss takes nothing
    from it. A request that waits is promised only as far as it was granted.
    """
    rows = ground.rows_rru
    held = ground.least(rows.sum(1))
    missing_now = np.maximum(ground.granted_rru - held, 0.0)  # (R,)
    missing = ground.granted_rru[:, None] - ground.least(rows.sum(1)[:, None] - rows)  # (R, M)
    is_hit = ground.held_rru > 0
    is_short = is_hit & (missing > ROUNDING * np.maximum(ground.granted_rru, held)[:, None])
    return tuple(
        _outlook(ground, m, is_hit[:, m], is_short[:, m], missing[:, m], missing_now) for m in range(len(ground.msb))
    )


def _outlook(
    ground: LossGround, m: int, is_hit: Bools, is_short: Bools, missing: Floats, missing_now: Floats
) -> MsbOutlook:
    """Return the outlook for MSB `m`. The arrays are (R,)."""
    rows = np.flatnonzero(is_short)
    rows = rows[np.argsort(-missing[rows], kind="stable")]
    return MsbOutlook(
        datacenter=str(ground.datacenter[m]),
        msb=str(ground.msb[m]),
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
                survives_msb_loss=bool(ground.survives[r]),
                capacity_rru=float(ground.capacity_rru[r]),
                granted_rru=float(ground.granted_rru[r]),
                lost_rru=float(ground.held_rru[r, m]),
                missing_now_rru=float(missing_now[r]),
                missing_rru=float(missing[r]),
            )
            for r in rows.tolist()
        ),
    )
