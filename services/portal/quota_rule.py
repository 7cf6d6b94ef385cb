"""Hold the rule of the quota, for a request and for applying a simulation. Pure.

docs/designs/0015-one-home-for-promises.md lists the callers and the other rules of promises.
"""

from __future__ import annotations

from libs.domain.quota import Quota


def exceeds_quota(quota: Quota, *, asked: float, had: float) -> bool:
    """Return whether `asked` cost units in place of `had` exceed the owner's quota.

    quota        quota whose used_cost_units and pending_cost_units do not count the reservations in question
    asked, had   what cost units of these reservations: the most that they may come to hold, or what they hold if that
                 is more

    The comparison is exact. An owner that asks for no more than it has is never refused.
    """
    if quota.limit_cost_units is None or asked <= had:
        return False
    return quota.used_cost_units + quota.pending_cost_units + asked > quota.limit_cost_units
