"""The words for the subject of an approval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from services.pages.parts.words import sentence, spaced

_NAMES = {
    "region_policy": "the policy of the region",
    "maintenance_override": "maintenance that takes too much",
    "rru_class": "a class of workload",
    "below_hold": "moves below a promise",
    "plan_action": "an action of a plan",
}


def name_of(approval: Mapping[str, Any]) -> str:
    """Return the reservation of an approval, or what it changes."""
    kind = str(approval["kind"])
    return str(approval["reservation"] or _NAMES.get(kind) or spaced(kind).lower())


def heading_of(approval: Mapping[str, Any]) -> str:
    """Return `name_of` for a heading or a cell: names of reservations stay as they are."""
    return str(approval["reservation"] or sentence(name_of(approval)))
