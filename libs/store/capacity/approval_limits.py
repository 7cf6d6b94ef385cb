"""Approval limits of regions. A request above a limit needs an approval."""

from __future__ import annotations

import sqlalchemy as sa

from libs.domain.approval import ApprovalLimits
from libs.reconcile.errors import StaleGeneration
from libs.store.platform.compare_and_swap import put_at_generation
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
    key = {"region_id": region_id}
    changed = put_at_generation(tx, approval_limits, key, values, generation=limits.generation)
    found = load_approval_limits(tx, region_id)
    if changed is None:
        raise StaleGeneration(
            "approval limits of region", region_id, expected=limits.generation, found=found.generation
        )
    return found
