"""Departures below *hold*: what a plan names and asks an operator for, and what was approved. See design 0032."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

import numpy as np
import sqlalchemy as sa

from libs.domain.approval import ApprovalKind, ApprovalStatus, Cause
from libs.domain.departure_exceptions import (
    ExceptedReservation,
    Exceptions,
    ExceptionState,
    StoredExceptions,
    below_what,
)
from libs.store.capacity.approvals import ask_for_approval, supersede_below_hold
from libs.store.capacity.ungranted import load_waiting
from libs.store.platform.bulk import Column, copy_in, copy_out
from libs.store.platform.database import Transaction
from libs.store.tables import excepted_reservations, excepted_servers

_SHOWN_MAX = 100
"""Largest number of reservations that an approval names, those furthest below their promise first. All are stored."""
_LATEST = sa.text("""
    SELECT approval_id, status, decided_at, CAST(change ->> 'window_s' AS float8) AS window_s,
           CAST(change ->> 'seconds' AS float8) AS seconds
    FROM approvals WHERE region_id = :region_id AND kind = 'below_hold' AND status <> 'superseded'
    ORDER BY approval_id DESC LIMIT 1""")
_RESERVATIONS = sa.text("""
    SELECT reservation_id, name AS reservation, below_rru, seconds, servers
    FROM excepted_reservations JOIN reservations USING (reservation_id)
    WHERE approval_id = :approval_id ORDER BY below_rru DESC, reservation_id""")
_SERVERS = """SELECT server_id, from_reservation_id, to_reservation_id FROM excepted_servers
              WHERE approval_id = %(approval_id)s ORDER BY server_id"""
_ASKED = sa.text("SELECT reservation_id, capacity_rru FROM reservations WHERE reservation_id = ANY(:ids)")
_FIELDS = {"server_id": ">i8", "from_id": ">i8", "to_id": ">i8"}
# The named servers and amounts of superseded exceptions are of no use; the approval keeps what it said.
_FORGET = [
    sa.text(f"DELETE FROM {table} USING approvals WHERE approvals.approval_id = {table}.approval_id "
            "AND region_id = :region_id AND kind = 'below_hold'")
    for table in ("excepted_servers", "excepted_reservations")
]  # fmt: skip
_STILL = sa.text("SELECT FROM approvals WHERE approval_id = :approval_id AND status = 'approved' FOR SHARE")


def settle_exceptions(
    tx: Transaction,
    region_id: int,
    exceptions: Exceptions | None,
    *,
    plan_id: int | None,
    actor: str,
    reason: str | None,
    now: datetime,
) -> int | None:
    """Ask for the approval of what a committed plan names. Supersede what an older plan asked for. Return the id of the
    approval that the plan's moves wait for, or have; None: they need none.

    An approval that covers all of it stays as it is: an operator who decided is not asked again every hour. The caller
    has locked the lineage of plans.
    """
    stored = load_exceptions(tx, region_id)
    is_open = stored is not None and stored.state(now) is not ExceptionState.OVER
    if exceptions is not None and stored is not None and is_open and stored.exceptions.covers(exceptions):
        return stored.approval_id
    if stored is not None:
        because = "NewPlan" if exceptions is not None else "NotNeeded"
        supersede_below_hold(tx, region_id, decided_by=actor, reason=because, now=now)
        for statement in _FORGET:
            tx.execute(statement, {"region_id": region_id})
    if exceptions is None:
        return None
    below = sorted(exceptions.reservations, key=lambda one: (-one.below_rru, one.reservation))[:_SHOWN_MAX]
    ids = [one.reservation_id for one in below]
    asked = dict(tx.execute(_ASKED, {"ids": ids}).tuples().all())
    promised = asked | load_waiting(tx, ids)
    approval = ask_for_approval(
        tx,
        region_id,
        action="ask_for_below_hold",
        kind=ApprovalKind.BELOW_HOLD,
        causes=[
            _cause(one, asked[one.reservation_id], promised[one.reservation_id]) for one in below if one.below_rru > 0
        ],
        change={
            "plan_id": plan_id,
            "servers": len(exceptions.server_id),
            "seconds": exceptions.seconds,
            "window_s": exceptions.window_s,
            "reservations": [
                asdict(one) | {"asked_rru": asked[one.reservation_id], "promised_rru": promised[one.reservation_id]}
                for one in below
            ],
        },
        before=None,
        actor=actor,
        reason=reason,
        now=now,
    )
    _store(tx, approval.approval_id, exceptions)
    return approval.approval_id


def load_exceptions(tx: Transaction, region_id: int) -> StoredExceptions | None:
    """Return the exceptions of a region that are in force, pending, rejected or over; None: its plan needs none."""
    found = tx.execute(_LATEST, {"region_id": region_id}).mappings().one_or_none()
    if found is None:
        return None
    of_approval = {"approval_id": found["approval_id"]}
    rows = tx.execute(_RESERVATIONS, of_approval).mappings().all()
    if not rows:  # a newer plan needs none, and a rejected approval stays rejected
        return None
    servers = copy_out(tx, _SERVERS, of_approval, _FIELDS)
    return StoredExceptions(
        approval_id=found["approval_id"],
        is_rejected=found["status"] == ApprovalStatus.REJECTED,
        decided_at=found["decided_at"],
        window_s=found["window_s"],
        exceptions=Exceptions(
            reservations=tuple(ExceptedReservation(**row) for row in rows),
            seconds=found["seconds"],
            **{name: servers[name].astype(np.int64) for name in _FIELDS},
        ),
    )


def are_approved(tx: Transaction, approval_id: int) -> bool:
    """Return whether the exceptions are approved, and keep them so until the transaction ends."""
    return tx.execute(_STILL, {"approval_id": approval_id}).first() is not None


def _cause(one: ExceptedReservation, asked_rru: float, promised_rru: float) -> Cause:
    rru, what = below_what(one.below_rru, asked_rru=asked_rru, granted_rru=promised_rru)
    granted = f"; {promised_rru:.4g} of its {asked_rru:.4g} RRU are granted" if promised_rru < asked_rru else ""
    return Cause(
        reason="BelowHold",
        message=f"{one.reservation} would hold {rru:.4g} RRU less than {what} for about "
        f"{max(1, round(one.seconds / 60))} min, while {one.servers} of its servers leave{granted}",
        numbers={"below_rru": one.below_rru, "seconds": one.seconds, "servers": float(one.servers)},
    )


def _store(tx: Transaction, approval_id: int, exceptions: Exceptions) -> None:
    rows = exceptions.reservations
    of_approval = [approval_id] * len(rows)
    names = ("reservation_id", "below_rru", "seconds", "servers")
    columns = {name: [getattr(one, name) for one in rows] for name in names}
    copy_in(tx, excepted_reservations, {"approval_id": of_approval, **columns})
    servers: dict[str, Column] = {
        "approval_id": [approval_id] * len(exceptions.server_id),
        "server_id": exceptions.server_id,
        "from_reservation_id": exceptions.from_id,
        "to_reservation_id": exceptions.to_id,
    }
    copy_in(tx, excepted_servers, servers)
