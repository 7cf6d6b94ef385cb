"""The rules that hold for every promise, however it is asked for: by a request, or by applying a simulation. Pure.

The third rule, what needs an approval, is in libs/domain/approval_causes.py.
docs/designs/0015-one-home-for-promises.md says who uses which.
"""

from __future__ import annotations

from collections.abc import Collection

from libs.domain.approval import ApprovalLimits
from libs.domain.quota import Quota


def exceeds_quota(quota: Quota, *, asked_rru: float, had_rru: float) -> bool:
    """Say whether the owner's quota does not cover `asked_rru` in the place of `had_rru`.

    quota   its used_rru and pending_rru leave out the reservations that are asked about
    The comparison is exact. An owner that asks for no more than it has is never refused.
    """
    if quota.limit_rru is None or asked_rru <= had_rru:
        return False
    return quota.used_rru + quota.pending_rru + asked_rru > quota.limit_rru


def lacks_second_person(limits: ApprovalLimits, asked_by: Collection[str], actor: str) -> bool:
    """Say whether somebody else than `actor` must approve. asked_by: the tokens that asked for it."""
    return limits.four_eyes and actor in asked_by
