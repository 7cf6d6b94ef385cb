"""Propose events of the capacity ledger. Proposals are written one after another, so each sees all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from libs.domain.arrays import Ints
from libs.domain.capacity_conflict import Conflict, Place, find_conflicts
from libs.domain.capacity_event import LIVE, CapacityDelta, CapacityEvent, EventStatus, Proposal, TrafficShift
from libs.store.ledger.events import NOUN
from libs.store.ledger.rows import EVENTS, effect_columns, event_of
from libs.store.platform import audit
from libs.store.platform.bulk import Column, copy_in, new_ids
from libs.store.platform.database import Transaction
from libs.store.platform.records import copy_records
from libs.store.platform.refusals import NotFound, NotPossible
from libs.store.tables import capacity_event_antecedents, capacity_events

_LOCK = "capacity_events"
_T = capacity_events.c
_PLACE = (_T.service, _T.region, _T.hardware_type)
_SHIFT = (_T.product, _T.from_region, _T.to_region)
_FIRST_CHANGES = sa.text("""
    INSERT INTO capacity_event_changes (capacity_event_id, generation, status, changed_by, reason, achieved, changed_at)
    SELECT capacity_event_id, generation, status, author, reason, achieved, changed_at
    FROM capacity_events WHERE capacity_event_id = ANY(CAST(:ids AS bigint[]))""")
_MAY_SUCCEED = (*LIVE, EventStatus.SUCCEEDED)


class ConflictingEvents(Exception):
    """Proposals conflict with live events, and did not name these in `despite`."""

    def __init__(self, conflicts: Sequence[Conflict]) -> None:
        self.conflicts = tuple(conflicts)
        super().__init__(f"{len(self.conflicts)} conflicts with live capacity events")


def propose_events(
    tx: Transaction,
    proposals: Sequence[Proposal],
    *,
    actor: str,
    now: datetime,
    capacity: Mapping[Place, float] | None = None,
    despite: Sequence[int] = (),
    despite_reason: str | None = None,
) -> Ints:
    """Propose events, and return their ids (N,) in the order of the proposals. Appends audit entries.

    capacity         capacity now by place. A place without an entry may fall to any amount.
    despite          ids of live events that the proposals may contradict, for the reason `despite_reason`

    Raises what check_proposals raises.
    """
    tx.execute(sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtext(_LOCK))))
    check_proposals(tx, proposals, author=actor, capacity=capacity, despite=despite, lock=True)
    ids = new_ids(tx, _T.capacity_event_id, len(proposals))
    _insert(tx, ids, proposals, actor, now)
    after: dict[str, object] = {"status": EventStatus.PROPOSED.value}
    if despite:
        after["despite"] = sorted(set(despite))
    audit.append_each(
        tx,
        ids.tolist(),
        actor=actor,
        action="propose",
        subject_kind="capacity_event",
        now=now,
        after=after,
        reason=despite_reason,
    )
    return ids


def check_proposals(
    tx: Transaction,
    proposals: Sequence[Proposal],
    *,
    author: str,
    capacity: Mapping[Place, float] | None = None,
    despite: Sequence[int] = (),
    lock: bool = False,
) -> None:
    """Check that the events may be proposed now.

    author   token that proposes
    lock     keep the antecedents as they are until the transaction ends

    Raises ConflictingEvents; NotFound for an unknown antecedent; NotPossible for an antecedent that cannot succeed any
    more, and for a second live event of the same plan, action and effect.
    """
    _require_antecedents(tx, proposals, lock=lock)
    live = load_opponents(tx, proposals)
    _require_new_actions(proposals, live)
    known = frozenset(despite)
    conflicts = find_conflicts(proposals, author, live, capacity or {})
    refused = [c for c in conflicts if not c.with_ or not known.issuperset(e.capacity_event_id for e in c.with_)]
    if refused:
        raise ConflictingEvents(refused)


def load_opponents(tx: Transaction, proposals: Sequence[Proposal]) -> list[CapacityEvent]:
    """Return the live events on the places of the proposals, and those that shift a product between the same regions
    in either direction.
    """
    effects = [one.effect for one in proposals]
    places = sorted({(e.service, e.region, e.hardware_type) for e in effects if isinstance(e, CapacityDelta)})
    shifts = {(e.product, e.from_region, e.to_region) for e in effects if isinstance(e, TrafficShift)}
    both_ways = sorted(shifts | {(product, end, start) for product, start, end in shifts})
    live = _T.status.in_(LIVE)
    found = []
    for keys, columns in ((places, _PLACE), (both_ways, _SHIFT)):
        if keys:
            lists = (sa.cast(list(column), ARRAY(sa.Text)) for column in zip(*keys, strict=True))
            wanted = sa.func.unnest(*lists).table_valued("a", "b", "c").render_derived()
            query = EVENTS.join(wanted, sa.and_(*(c == w for c, w in zip(columns, wanted.c, strict=True)))).where(live)
            found += [event_of(row) for row in tx.execute(query.order_by(_T.capacity_event_id)).mappings()]
    return found


def _require_new_actions(proposals: Sequence[Proposal], live: Sequence[CapacityEvent]) -> None:
    """Require at most one live event per plan, action, and place or shift. An index guards the same."""
    taken = {_action_key(event): f"event {event.capacity_event_id} does" for event in live if event.action is not None}
    for position, one in enumerate(proposals):
        if one.action is None:
            continue
        if (key := _action_key(one)) in taken:
            what = f"action {one.action} of plan {one.placement_plan_id} on the same quantity"
            raise NotPossible("action", f"item {position} repeats {what}: {taken[key]} it already")
        taken[key] = f"item {position} does"


def _action_key(one: Proposal | CapacityEvent) -> tuple[object, ...]:
    columns = effect_columns(one.effect)
    return one.placement_plan_id, one.action, *(columns[name] for name in columns if name != "amount")


def _require_antecedents(tx: Transaction, proposals: Sequence[Proposal], *, lock: bool) -> None:
    for position, one in enumerate(proposals):
        if one.follows and not 0 <= min(one.follows) <= max(one.follows) < position:
            before = next(before for before in one.follows if not 0 <= before < position)
            raise NotPossible("follows", f"item {position} may follow only earlier items, not item {before}")
    wanted = sorted({event_id for one in proposals for event_id in one.antecedents})
    if not wanted:
        return
    query = (
        sa.select(_T.capacity_event_id, _T.status)
        .where(_T.capacity_event_id == sa.func.any(sa.cast(wanted, ARRAY(sa.BigInteger))))
        .order_by(_T.capacity_event_id)
    )
    if lock:
        query = query.with_for_update(read=True)
    found = {row.capacity_event_id: EventStatus(row.status) for row in tx.execute(query)}
    for event_id in wanted:
        if event_id not in found:
            raise NotFound(NOUN, event_id)
        if found[event_id] not in _MAY_SUCCEED:
            raise NotPossible("antecedents", f"event {event_id} is {found[event_id].value}, so it can never succeed")


def _insert(tx: Transaction, ids: Ints, proposals: Sequence[Proposal], author: str, now: datetime) -> None:
    count = len(proposals)
    effects = [effect_columns(one.effect) for one in proposals]
    columns: dict[str, Column] = {name: [e[name] for e in effects] for name in (effects[0] if effects else ())}
    for name in ("reason", "starts_at", "lead_time_h", "placement_plan_id", "action"):
        columns[name] = [getattr(one, name) for one in proposals]
    events: dict[str, Column] = {
        "capacity_event_id": ids,
        **columns,
        "writer": [one.writer.value for one in proposals],
        "author": [author] * count,
        "proposed_at": [now] * count,
        "status": [EventStatus.PROPOSED.value] * count,
        "achieved": [0.0] * count,
        "changed_at": [now] * count,
    }
    copy_in(tx, capacity_events, events)
    tx.execute(_FIRST_CHANGES, {"ids": ids.tolist()})
    _insert_antecedents(tx, ids, proposals)


def _insert_antecedents(tx: Transaction, ids: Ints, proposals: Sequence[Proposal]) -> None:
    """Store what must succeed before each event: events of before, and earlier ones of the same call."""
    known = [np.array(one.antecedents, np.int64) for one in proposals if one.antecedents]
    have = [len(one.antecedents) for one in proposals]
    follow = [len(one.follows) for one in proposals]
    earlier = np.fromiter((p for one in proposals for p in one.follows), np.int64, sum(follow))
    pairs = np.column_stack(
        (
            np.concatenate((np.repeat(ids, have), np.repeat(ids, follow))),
            np.concatenate((*known, ids[earlier])),
        )
    )
    pairs = np.unique(pairs, axis=0)
    copy_records(
        tx,
        capacity_event_antecedents.name,
        {"capacity_event_id": pairs[:, 0].copy(), "antecedent_id": pairs[:, 1].copy()},
    )
