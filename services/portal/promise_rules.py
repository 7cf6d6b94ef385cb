"""Hold the rules for every promise, by a request or by applying a simulation. Pure.

The third rule, the causes of an approval, is in libs/domain/approval_causes.py.
docs/designs/0015-one-home-for-promises.md lists the callers.
"""

from __future__ import annotations

from collections.abc import Collection

from libs.domain.approval import ApprovalLimits
from libs.domain.quota import Quota


def exceeds_quota(quota: Quota, *, asked: float, had: float) -> bool:
    """Return whether `asked` cost units in place of `had` exceed the owner's quota.

    quota        quota whose used_cost_units and pending_cost_units do not count the reservations in question
    asked, had   what these reservations count: the most that they may come to hold, or what they hold if that is more

    The comparison is exact. An owner that asks for no more than it has is never refused.
    """
    if quota.limit_cost_units is None or asked <= had:
        return False
    return quota.used_cost_units + quota.pending_cost_units + asked > quota.limit_cost_units


def lacks_second_person(limits: ApprovalLimits, asked_by: Collection[str], actor: str) -> bool:
    """Return whether another person than `actor` must approve a change. `asked_by` are the tokens that asked for the
    change.
    """
    return limits.four_eyes and actor in asked_by
