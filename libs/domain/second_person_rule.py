"""Hold the rule that another person must approve. Pure.

docs/designs/0015-one-home-for-promises.md lists the callers.
"""

from __future__ import annotations

from collections.abc import Collection

from libs.domain.approval import ApprovalLimits


def lacks_second_person(limits: ApprovalLimits, asked_by: Collection[str], person: str) -> bool:
    """Return whether another person than `person` must approve a change.

    asked_by   the persons who asked for the change, and not the names of their tokens: one person may hold several
    """
    return limits.four_eyes and person in asked_by
