"""Hold the rules for every promise, by a request or by applying a simulation. Pure.

The third rule, the causes of an approval, is in libs/domain/approval_causes.py.
docs/designs/0015-one-home-for-promises.md lists the callers.
"""

from __future__ import annotations

from collections.abc import Collection

from libs.domain.approval import ApprovalLimits
from libs.domain.quota import Quota


def exceeds_quota(quota: Quota, *, asked_rru: float, had_rru: float) -> bool:
    """Return whether `asked_rru` in place of `had_rru` exceeds the owner's quota.

    quota   quota whose used_rru and pending_rru do not count the reservations in question

    The comparison is exact. An owner that asks for no more than it has is never refused.
    """
    if quota.limit_rru is None or asked_rru <= had_rru:
        return False
    return quota.used_rru + quota.pending_rru + asked_rru > quota.limit_rru


def lacks_second_person(limits: ApprovalLimits, asked_by: Collection[str], actor: str) -> bool:
    """Return whether another person than `actor` must approve a change. `asked_by` are the tokens that asked for the
    change.
    """
    return limits.four_eyes and actor in asked_by
