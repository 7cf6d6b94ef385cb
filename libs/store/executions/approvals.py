"""The approvals of actions. They change in the transaction that changes the actions, so no list shows an old state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

import sqlalchemy as sa
from psycopg.types.json import Jsonb
from sqlalchemy.dialects.postgresql import ARRAY

from libs.domain.action_approval import causes_of, change_of, outcome_of
from libs.domain.approval import ApprovalKind, ApprovalLimits, ApprovalStatus
from libs.domain.execution_plan import Action
from libs.domain.execution_progress import ActionProgress
from libs.domain.plan_execution import ActionState, ExecutionState, RecordedCommand, Verb
from libs.store.platform.bulk import copy_in
from libs.store.platform.database import Transaction
from libs.store.tables import approval_limits, approvals, regions, reservations

_T = approvals.c
_LEFT = frozenset({ActionState.WAITING, ActionState.SKIPPED, ActionState.TAKEN_OVER})
"""States that an action comes to from AWAITING_APPROVAL."""
InRegion = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Askers:
    """The names of the tokens that asked for an action, and the limits of its region."""

    names: tuple[str, ...]
    limits: ApprovalLimits


def ask_for_actions(
    tx: Transaction,
    plan_execution_id: int,
    actions: Sequence[Action],
    owners: Mapping[int, str],
    *,
    asked_by: Sequence[str],
    reason: str,
    now: datetime,
) -> None:
    """Store a pending approval of each action that needs one.

    owners     position -> owner of the service there
    asked_by   names of the tokens that wrote the plan and created the execution
    """
    waiting = [(i, a) for i, a in enumerate(actions) if a.approval]
    n = len(waiting)
    if n:
        copy_in(
            tx,
            approvals,
            {
                "kind": [ApprovalKind.PLAN_ACTION.value] * n,
                "plan_execution_id": [plan_execution_id] * n,
                "position": [i for i, _ in waiting],
                "for_owner": [owners.get(i) for i, _ in waiting],
                "status": [ApprovalStatus.PENDING.value] * n,
                "causes": [Jsonb([asdict(cause) for cause in causes_of(a)]) for _, a in waiting],
                "change": [Jsonb(dict(change_of(a, a.after))) for _, a in waiting],
                "asked_by": [list(asked_by)] * n,
                "given_reason": [reason] * n,
                "created_at": [now] * n,
            },
        )


def follow_approvals(
    tx: Transaction,
    plan_execution_id: int,
    changes: Iterable[ActionProgress],
    command: RecordedCommand | None,
    *,
    decided_by: str,
    now: datetime,
) -> None:
    """Bring the approvals of changed actions to where the actions are.

    command   the command behind the changes; None: the reconciler decided them
    """
    verb = None if command is None else command.command.verb
    by_status: dict[ApprovalStatus, list[int]] = {}
    for one in changes:
        if one.state in _LEFT:
            by_status.setdefault(outcome_of(one.state, verb), []).append(one.position)
        elif one.state is ActionState.AWAITING_APPROVAL and verb is Verb.EDIT:
            size = sa.func.jsonb_build_object("size", one.size)
            known = sa.literal(decided_by) == sa.any_(_T.asked_by)
            askers = sa.case((known, _T.asked_by), else_=sa.func.array_append(_T.asked_by, decided_by))
            pending = _of(plan_execution_id, [one.position])
            tx.execute(pending.values(change=_T.change.op("||")(size), asked_by=askers))
    for status, positions in by_status.items():
        said = "an action that it needs was skipped" if command is None else command.reason
        values = {"status": status, "decided_by": decided_by, "decision_reason": said, "decided_at": now}
        if status is ApprovalStatus.REJECTED and command is not None:
            values["reject_kind"] = command.reject_kind
        tx.execute(_of(plan_execution_id, positions).values(values))


def close_approvals(
    tx: Transaction, plan_execution_id: int, state: ExecutionState, *, decided_by: str, now: datetime
) -> None:
    """Supersede what still waits, because the execution has ended."""
    said = f"the execution is {state}"
    values = {"status": ApprovalStatus.SUPERSEDED, "decided_by": decided_by, "decision_reason": said, "decided_at": now}
    tx.execute(_of(plan_execution_id, None).values(values))


def load_askers(tx: Transaction, plan_execution_id: int, positions: Sequence[int]) -> dict[int, Askers]:
    """Return position -> who asked for the action and may have changed its size. It leaves out actions in regions of
    other installations, and in regions without limits.
    """
    limits = approval_limits.c
    query = (
        sa.select(_T.position, _T.asked_by, *(limits[name] for name in ApprovalLimits.__dataclass_fields__))
        .join_from(approvals, regions, regions.c.name == _T.change["region"].astext)
        .join(approval_limits, limits.region_id == regions.c.region_id)
        .where(_T.plan_execution_id == plan_execution_id)
        .where(_T.position == sa.func.any(sa.cast(list(positions), ARRAY(sa.Integer))))
    )
    return {
        row["position"]: Askers(
            names=tuple(row["asked_by"]),
            limits=ApprovalLimits(**{name: row[name] for name in ApprovalLimits.__dataclass_fields__}),
        )
        for row in tx.execute(query).mappings()
    }


def load_sizes_generation(tx: Transaction, plan_execution_id: int, positions: Sequence[int]) -> int:
    """Return a number that rises whenever an approval of these actions is decided, or its size is edited."""
    query = sa.select(sa.func.coalesce(sa.func.sum(_T.generation), 0)).where(
        _T.plan_execution_id == plan_execution_id,
        _T.position == sa.func.any(sa.cast(list(positions), ARRAY(sa.Integer))),
    )
    return int(tx.execute(query).scalar_one())


def load_reservation_owners(tx: Transaction) -> dict[InRegion, str]:
    """Return (region, reservation) -> owner, of reservations that have not ended."""
    table = reservations.c
    query = sa.select(regions.c.name, table.name.label("reservation"), table.owner).join_from(
        reservations, regions, regions.c.region_id == table.region_id
    )
    rows = tx.execute(query.where(table.deleted_at.is_(None), table.owner.is_not(None)))
    return {(row.name, row.reservation): row.owner for row in rows}


def _of(plan_execution_id: int, positions: Sequence[int] | None) -> sa.Update:
    key = sa.and_(_T.plan_execution_id == plan_execution_id, _T.status == ApprovalStatus.PENDING)
    if positions is not None:
        key = sa.and_(key, _T.position == sa.func.any(sa.cast(list(positions), ARRAY(sa.Integer))))
    return sa.update(approvals).where(key)
