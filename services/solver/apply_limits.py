"""What applying a simulation may promise: it is a way to ask like any other, so quotas and approval limits hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from libs.domain.approval import ApprovalLimits, Cause
from libs.domain.reservation import ROUNDING, Reservation, ReservationSpec
from libs.domain.simulation import Simulation
from libs.store.database import Transaction
from libs.store.quotas import load_quota
from libs.web.problems import Problem

_SHOWN_MAX = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A reservation that applying resizes or, without `before`, creates. row: in the snapshot as it was imagined."""

    row: int
    name: str
    owner: str
    spec: ReservationSpec
    before: Reservation | None


def require_within_quotas(tx: Transaction, region: str, decisions: Sequence[Decision]) -> None:
    """Raises Problem (409) where an owner would be promised more than the quota, and more than it has.

    Nobody else is promised anything for these owners until the transaction ends. Before the reservations' locks, as in
    an assessment.
    """
    growth: dict[str, float] = defaultdict(float)
    for one in decisions:
        growth[one.owner] += one.spec.capacity_rru - (0.0 if one.before is None else one.before.spec.capacity_rru)
    for owner in sorted(name for name, more in growth.items() if more > 0):
        quota = load_quota(tx, region, owner, lock=True)
        wanted = quota.used_rru + quota.pending_rru + growth[owner]
        if quota.limit_rru is not None and wanted > quota.limit_rru * (1 + ROUNDING):
            detail = (
                f"{owner} may have {quota.limit_rru:g} RRU in {region}: {quota.used_rru:g} are in use, "
                f"{quota.pending_rru:g} are in requests, and this adds {growth[owner]:g}. Simulate less, or set a "
                "larger quota first."
            )
            raise Problem(409, "quota_exceeded", detail, owner=owner)


def require_approved(
    simulation: Simulation, causes: Sequence[Cause], limits: ApprovalLimits, *, actor: str, reason: str | None
) -> None:
    """Applying is an operator's approval of every limit that is exceeded, and takes what an approval takes.

    Raises Problem: 403 where somebody else must approve, 409 where no reason is given.
    """
    if not causes:
        return
    why = "; ".join(cause.message for cause in causes[:_SHOWN_MAX])
    if limits.four_eyes and actor == simulation.requested_by:
        detail = f"{actor} asked for this; in {simulation.region} somebody else must apply it: {why}."
        raise Problem(403, "four_eyes", detail, asked_by=[actor])
    if reason is None:
        raise Problem(
            409, "needs_approval", f"Above what needs no approval: {why}. Applying approves it: give a reason."
        )
