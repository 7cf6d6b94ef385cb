"""The time that irreversible operations use.

The clock of a host can be wrong: one that boots in 2038 must not end every reservation and delete every measurement. So
irreversible operations use the earlier of the Clock and the database's clock. Simulated time is used as it is, because
it differs from real time on purpose.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.reconcile.clock import Clock, SystemClock
from libs.store.platform.database import Transaction
from libs.store.tables import retention_clocks

AHEAD_MAX = timedelta(minutes=1)
"""Largest allowed lead of the Clock over the database's clock. Synchronised hosts agree far more closely."""
STEP_MAX = timedelta(days=7)
"""Largest advance between two runs of retention, which runs daily. After a longer gap, the next runs catch up."""


def certain_now(tx: Transaction, clock: Clock) -> datetime:
    """Return the Clock's time, limited to AHEAD_MAX after the database's. Simulated time is not limited."""
    now = clock.now()
    if not isinstance(clock, SystemClock):
        return now
    there: datetime = tx.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
    return min(now, there + AHEAD_MAX)


def retention_now(tx: Transaction, clock: Clock, name: str) -> datetime:
    """Return the present time for one run of retention; `name` names the data that it deletes.

    It is at most STEP_MAX after the time of the previous run. So a run deletes at most a week's worth of data, even if
    all clocks are wrong.
    """
    now = certain_now(tx, clock)
    if not isinstance(clock, SystemClock):
        return now
    at = retention_clocks.c.at
    statement = insert(retention_clocks).values(name=name, at=now)
    statement = statement.on_conflict_do_update(
        index_elements=["name"],
        set_={"at": sa.func.greatest(at, sa.func.least(statement.excluded.at, at + STEP_MAX))},
    )
    believed: datetime = tx.execute(statement.returning(at)).scalar_one()
    return min(now, believed)
