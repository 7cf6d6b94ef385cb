"""Prepare a database that was restored from a backup, so that the platform may go on with it."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from libs.store.moves.movers import pause_mover
from libs.store.platform.backup import skip_identifiers
from libs.store.platform.database import Transaction
from libs.store.tables import regions


def settle_restored(tx: Transaction, *, backed_up: str, now: datetime) -> list[str]:
    """Pause every mover, and let every sequence skip identifiers. Return the names of the regions.

    backed_up   when the backup was made, for people
    """
    names = list(tx.execute(sa.select(regions.c.name).order_by(regions.c.region_id)).scalars())
    reason = f"restored from a backup of {backed_up}: compare the fleet before servers move"
    for name in names:
        pause_mover(tx, name, reason=reason, actor="restore", now=now)
    skip_identifiers(tx)
    return names
