"""Hold the rule that another person must approve. Pure.

docs/designs/0015-one-home-for-promises.md lists the callers.
"""

from __future__ import annotations

from collections.abc import Collection

from libs.domain.approval import ApprovalLimits


def lacks_second_person(limits: ApprovalLimits, asked_by: Collection[str], actor: str) -> bool:
    """Return whether another person than `actor` must approve a change. `asked_by` are the tokens that asked for the
    change.
    """
    return limits.four_eyes and actor in asked_by
