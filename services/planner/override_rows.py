"""Turn overrides into rows of the table that plans read."""

from __future__ import annotations

from collections.abc import Iterable

from libs.domain.plan_override import OverrideKind, PlanOverride
from libs.interchange.planning_inputs.rows import Row


def override_rows(overrides: Iterable[PlanOverride]) -> list[Row]:
    """Return one row of the table `overrides` per override."""
    return [
        {
            "override": float(one.plan_override_id),
            "service": one.subject if one.kind is OverrideKind.CAPACITY else None,
            "product": one.subject if one.kind is OverrideKind.PRESENCE else None,
            "region": one.region,
            "hardware_type": one.hardware_type,
            "least": one.least,
            "most": one.most,
            "reason": f"{one.reason[:120]}, {one.created_by[:40]}",
        }
        for one in overrides
    ]
