"""Figures about approvals, counted by the database."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from libs.domain.approval import ApprovalKind, ApprovalStatus
from libs.domain.approval_figures import ApprovalFigures, Decided, ReasonCount, Waiting
from libs.domain.plan_execution import RejectKind, Verb
from libs.store.platform.database import Transaction

_WAITING = sa.text("""
    SELECT kind, for_owner AS owner, count(*) AS number, min(created_at) AS oldest_at
    FROM approvals WHERE status = 'pending' GROUP BY kind, for_owner ORDER BY kind, for_owner NULLS FIRST""")
_DECIDED = sa.text("""
    SELECT kind, status, count(*) AS number,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM decided_at - created_at)) AS median_s,
        percentile_cont(0.9) WITHIN GROUP (ORDER BY extract(epoch FROM decided_at - created_at)) AS p90_s
    FROM approvals WHERE decided_at >= coalesce(
        CAST(:since AS timestamptz), (SELECT max(decided_at) - interval '7 days' FROM approvals))
    GROUP BY kind, status ORDER BY kind, status""")
# An edit is a command about one action. A rejection may be about a phase: the approvals tell which actions it met.
_REASONS = sa.text("""
    SELECT service, verb, reject_kind, count(*) AS number FROM (
        SELECT change ->> 'service' AS service, 'reject' AS verb, reject_kind FROM approvals
        WHERE kind = 'plan_action' AND status = 'rejected' AND decided_at >= :since
        UNION ALL
        SELECT a.service, c.verb, c.reject_kind FROM execution_commands c
        JOIN execution_actions a ON a.plan_execution_id = c.plan_execution_id AND a.action = c.subject
        WHERE c.verb = 'edit' AND c.accepted AND c.given_at >= :since
    ) AS given WHERE CAST(:service AS text) IS NULL OR service = :service
    GROUP BY service, verb, reject_kind ORDER BY number DESC, service, verb, reject_kind LIMIT :most""")


def load_waiting(tx: Transaction) -> tuple[Waiting, ...]:
    """Return what waits, by kind and owner."""
    return tuple(
        Waiting(kind=ApprovalKind(row.kind), owner=row.owner, number=row.number, oldest_at=row.oldest_at)
        for row in tx.execute(_WAITING)
    )


def load_decided(tx: Transaction, *, since: datetime | None = None) -> tuple[Decided, ...]:
    """Return what was decided from `since` on, by kind and outcome; None: in the 7 days before the last decision."""
    return tuple(
        Decided(
            kind=ApprovalKind(row.kind),
            status=ApprovalStatus(row.status),
            number=row.number,
            median_s=float(row.median_s),
            p90_s=float(row.p90_s),
        )
        for row in tx.execute(_DECIDED, {"since": since})
    )


def load_approval_figures(
    tx: Transaction, *, since: datetime, service: str | None = None, most: int = 1000
) -> ApprovalFigures:
    """Return all figures. `most` bounds the reasons; the most frequent ones come first."""
    reasons = tuple(
        ReasonCount(
            service=row.service,
            verb=Verb(row.verb),
            reject_kind=None if row.reject_kind is None else RejectKind(row.reject_kind),
            number=row.number,
        )
        for row in tx.execute(_REASONS, {"since": since, "service": service, "most": most})
    )
    return ApprovalFigures(waiting=load_waiting(tx), decided=load_decided(tx, since=since), reasons=reasons)
