"""Keep a class of workload from being retired in the moment in which a reservation begins to follow it.

A grant and a retirement both lock the row of the latest version: many grants may hold it at a time, and a retirement
holds it alone. The one that comes second reads again what the first one wrote.
"""

from __future__ import annotations

import sqlalchemy as sa

from libs.reconcile.errors import StaleGeneration
from libs.store.platform.database import Transaction

_LATEST = """
    SELECT version, rru = '{}' AS is_retired FROM rru_versions
    WHERE region_id = :region_id AND workload_class = :workload_class ORDER BY version DESC LIMIT 1"""
_SHARE, _ALONE = sa.text(f"{_LATEST} FOR SHARE"), sa.text(f"{_LATEST} FOR UPDATE")


def hold_class(tx: Transaction, region_id: int, workload_class: str | None) -> None:
    """Keep a class as it is until the end of the transaction, for a reservation that follows it. None: it follows none.

    Raises StaleGeneration if the class was retired since the request was judged.
    """
    if workload_class is None:
        return
    of_class = {"region_id": region_id, "workload_class": workload_class}
    locked = tx.execute(_SHARE, of_class).one_or_none()
    latest = tx.execute(sa.text(_LATEST), of_class).one_or_none()  # one may have been appended while this waited
    if locked is None or latest is None or latest.is_retired:
        found = 0 if latest is None else latest.version
        raise StaleGeneration("class of workload", workload_class, expected=max(found - 1, 0), found=found)


def lock_class(tx: Transaction, region_id: int, workload_class: str) -> None:
    """Wait for the reservations that begin to follow a class, and let no other begin until the transaction ends."""
    tx.execute(_ALONE, {"region_id": region_id, "workload_class": workload_class})
