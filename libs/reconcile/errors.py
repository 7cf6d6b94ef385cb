"""The errors of a stale write: its writer must read again and decide again."""

from __future__ import annotations


class StaleGeneration(Exception):
    """A row was changed by someone else since it was read."""

    def __init__(self, noun: str, identifier: object, *, expected: int, found: int | None) -> None:
        self.noun, self.identifier, self.expected, self.found = noun, identifier, expected, found
        super().__init__(f"{noun} {identifier} is at generation {found}, not {expected}: read it again")


class StalePlan(Exception):
    """The plan's parent is no longer the region's target plan."""

    def __init__(self, region: str, *, parent_plan_id: int | None, target_plan_id: int | None) -> None:
        self.region, self.parent_plan_id, self.target_plan_id = region, parent_plan_id, target_plan_id
        super().__init__(
            f"region {region} has moved on to plan {target_plan_id} from plan {parent_plan_id}: solve again"
        )


class Overtaken(Exception):
    """A decision is no longer right, although no row that it writes has changed."""
