"""Change the status of events, in bulk and by compare-and-swap on their generation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from libs.domain.capacity_event import EventChange, EventStatus, why_not, why_not_amount
from libs.reconcile.errors import StaleGeneration
from libs.store.ledger.events import NOUN
from libs.store.platform import audit
from libs.store.platform.bulk import Column, copy_in
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound, NotPossible
from libs.store.tables import capacity_event_antecedents, capacity_event_changes, capacity_events

_T = capacity_events.c
_VERBS = {
    EventStatus.APPROVED: "approve",
    EventStatus.ACTIVE: "activate",
    EventStatus.SUCCEEDED: "succeed",
    EventStatus.FAILED: "fail",
    EventStatus.SUPERSEDED: "supersede",
    EventStatus.CANCELLED: "cancel",
}


class RefusedChange(Exception):
    """An event may not change so: its status, or that of its antecedents, forbids it."""

    def __init__(self, capacity_event_id: int, message: str) -> None:
        self.capacity_event_id = capacity_event_id
        super().__init__(f"{NOUN} {capacity_event_id} {message}")


def change_events(tx: Transaction, changes: Sequence[EventChange], *, actor: str, now: datetime) -> None:
    """Change events, all or none. Each generation rises by one. Appends audit entries.

    Raises NotFound; StaleGeneration; RefusedChange if the status of an event allows no such change, or if an antecedent
    of an event to activate has not succeeded; NotPossible if an event is named twice, or cannot achieve that amount.
    """
    if not changes:
        return
    ids = [one.capacity_event_id for one in changes]
    if len(set(ids)) < len(ids):
        raise NotPossible("capacity_event_id", "names an event twice")
    found = _lock(tx, ids)
    achieved = []
    for one in changes:
        row = found.get(one.capacity_event_id)
        if row is None:
            raise NotFound(NOUN, one.capacity_event_id)
        if row.generation != one.generation:
            raise StaleGeneration(NOUN, one.capacity_event_id, expected=one.generation, found=row.generation)
        wrong = why_not(EventStatus(row.status), one)
        if wrong is not None:
            raise RefusedChange(one.capacity_event_id, wrong)
        amount = float(row.achieved if one.achieved is None else one.achieved)
        wrong = why_not_amount(row.amount, amount, is_share=row.kind == "traffic")
        if wrong is not None:
            raise NotPossible("achieved", wrong)
        achieved.append(amount)
    _write(tx, changes, achieved, actor, now)
    begun = [one.capacity_event_id for one in changes if one.status is EventStatus.ACTIVE]
    _require_succeeded(tx, begun)
    _audit(tx, changes, actor, now)


def _lock(tx: Transaction, ids: Sequence[int]) -> dict[int, sa.Row[tuple[int, str, int, float, float, str]]]:
    """Lock the events in the order of their ids, as every writer does, and return them by id."""
    query = (
        sa.select(_T.capacity_event_id, _T.status, _T.generation, _T.achieved, _T.amount, _T.kind)
        .where(_T.capacity_event_id == sa.func.any(sa.cast(list(ids), ARRAY(sa.BigInteger))))
        .order_by(_T.capacity_event_id)
        .with_for_update(key_share=True)
    )
    return {row.capacity_event_id: row for row in tx.execute(query)}


def _write(
    tx: Transaction, changes: Sequence[EventChange], achieved: Sequence[float], author: str, now: datetime
) -> None:
    """Update the rows and append their history. The rows are locked, and their generations are checked."""
    ids, statuses = [one.capacity_event_id for one in changes], [one.status.value for one in changes]
    new = (
        sa.func.unnest(
            sa.cast(ids, ARRAY(sa.BigInteger)), sa.cast(statuses, ARRAY(sa.Text)), sa.cast(achieved, ARRAY(sa.Double))
        )
        .table_valued("id", "status", "achieved")
        .render_derived()
    )
    values = {"status": new.c.status, "achieved": new.c.achieved, "changed_at": now}
    tx.execute(sa.update(capacity_events).where(_T.capacity_event_id == new.c.id).values(values))
    history: dict[str, Column] = {
        "capacity_event_id": ids,
        "generation": [one.generation + 1 for one in changes],
        "status": statuses,
        "changed_by": [author] * len(changes),
        "reason": [one.reason for one in changes],
        "achieved": achieved,
        "changed_at": [now] * len(changes),
    }
    copy_in(tx, capacity_event_changes, history)


def _require_succeeded(tx: Transaction, begun: Sequence[int]) -> None:
    """Require that all antecedents of events that become active have succeeded, perhaps in this transaction."""
    if not begun:
        return
    antecedent = capacity_events.alias("antecedent")
    link = capacity_event_antecedents.c
    query = (
        sa.select(link.capacity_event_id, link.antecedent_id, antecedent.c.status)
        .join_from(capacity_event_antecedents, antecedent, antecedent.c.capacity_event_id == link.antecedent_id)
        .where(link.capacity_event_id == sa.func.any(sa.cast(list(begun), ARRAY(sa.BigInteger))))
        .where(antecedent.c.status != EventStatus.SUCCEEDED)
        .order_by(link.capacity_event_id, link.antecedent_id)
        .limit(1)
    )
    waits = tx.execute(query).one_or_none()
    if waits is not None:
        message = f"cannot become active: its antecedent {waits.antecedent_id} is {waits.status}"
        raise RefusedChange(waits.capacity_event_id, message)


def _audit(tx: Transaction, changes: Sequence[EventChange], actor: str, now: datetime) -> None:
    alike: dict[tuple[EventStatus, str | None], list[int]] = defaultdict(list)
    for one in changes:
        alike[one.status, one.reason].append(one.capacity_event_id)
    for (status, reason), ids in alike.items():
        audit.append_each(
            tx,
            ids,
            actor=actor,
            action=_VERBS[status],
            subject_kind="capacity_event",
            now=now,
            after={"status": status.value},
            reason=reason,
        )
