"""Approval limits of regions. A request above a limit needs an approval."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.domain.approval import ApprovalLimits
from libs.reconcile.errors import StaleGeneration
from libs.store.platform.database import Transaction
from libs.store.tables import approval_limits

_COLUMNS = tuple(approval_limits.c[name].label(name) for name in ApprovalLimits.__dataclass_fields__)


def load_approval_limits(tx: Transaction, region_id: int) -> ApprovalLimits:
    """Return the limits of a region. If none were ever set, return the defaults at generation 0."""
    row = tx.execute(sa.select(*_COLUMNS).where(approval_limits.c.region_id == region_id)).mappings().one_or_none()
    return ApprovalLimits() if row is None else ApprovalLimits(**row)


def set_approval_limits(tx: Transaction, region_id: int, limits: ApprovalLimits) -> ApprovalLimits:
    """Set the limits of a region. Raises StaleGeneration unless the stored limits are still at `limits.generation`."""
    values = {
        "size_cost_units": limits.size_cost_units,
        "hardware_share": limits.hardware_share,
        "four_eyes": limits.four_eyes,
        "policy_prices": limits.policy_prices,
    }
    if limits.generation == 0:
        new = insert(approval_limits).values(region_id=region_id, **values).on_conflict_do_nothing()
        changed = tx.execute(new.returning(approval_limits.c.region_id)).first()
    else:
        key = sa.and_(approval_limits.c.region_id == region_id, approval_limits.c.generation == limits.generation)
        update = sa.update(approval_limits).where(key).values(values)
        changed = tx.execute(update.returning(approval_limits.c.region_id)).first()
    found = load_approval_limits(tx, region_id)
    if changed is None:
        raise StaleGeneration(
            "approval limits of region", region_id, expected=limits.generation, found=found.generation
        )
    return found
