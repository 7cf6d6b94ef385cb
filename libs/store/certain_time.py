"""The time by which something is ended or deleted for good.

Hosts' clocks go wrong: one that boots in 2038 must not end every reservation and forget every measurement. So what
cannot be brought back goes by the Clock and by the database's clock, whichever is behind. Simulated time is not
compared with anything: it is meant to pass otherwise.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.reconcile.clock import Clock, SystemClock
from libs.store.database import Transaction
from libs.store.tables import retention_clocks

AHEAD_MAX = timedelta(minutes=1)
"""Hosts whose clocks are kept agree to within far less."""
STEP_MAX = timedelta(days=7)
"""Retention runs every day. One that finds more time gone than this believes this much, and the next one goes on."""


def certain_now(tx: Transaction, clock: Clock) -> datetime:
    """The Clock's time, and at most AHEAD_MAX later than the database's unless time is simulated."""
    now = clock.now()
    if not isinstance(clock, SystemClock):
        return now
    there: datetime = tx.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
    return min(now, there + AHEAD_MAX)


def retention_now(tx: Transaction, clock: Clock, name: str) -> datetime:
    """The time by which one run of retention says what is old; `name` is what it forgets.

    At most STEP_MAX later than at the run before, whatever the clocks say: so no run forgets more than a week's worth.
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
