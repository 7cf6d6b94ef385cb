"""Hold the rule of the quota, for a request and for applying a simulation. Pure.

docs/designs/0015-one-home-for-promises.md lists the callers and the other rules of promises.
"""

from __future__ import annotations

from libs.domain.quota import Quota
from libs.domain.words import cost_units


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


def excess_in_words(quota: Quota, *, asked: float) -> tuple[str, dict[str, float]]:
    """Return why `asked` cost units exceed the owner's quota, which has a limit, and the numbers of that."""
    assert quota.limit_cost_units is not None
    left = max(0.0, quota.limit_cost_units - quota.used_cost_units - quota.pending_cost_units)
    pending = f", {quota.pending_cost_units:g} are in requests before this one" if quota.pending_cost_units else ""
    less = f"Ask for what may come to hold at most {cost_units(left)}, return" if left > 0 else "Return"
    message = (
        f"{quota.owner} may have {cost_units(quota.limit_cost_units)} in {quota.region}: {quota.used_cost_units:g} "
        f"are in use beside this{pending}, and this may come to hold {asked:g}, its buffers, shares and servers on "
        f"their way back included. {less} some, or ask an operator for a larger quota."
    )
    numbers = {
        "quota_cost_units": quota.limit_cost_units,
        "used_cost_units": quota.used_cost_units,
        "pending_cost_units": quota.pending_cost_units,
        "asked_cost_units": asked,
    }
    return message, numbers
