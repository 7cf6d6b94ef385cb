"""Explain the container of an object."""

from __future__ import annotations

from dataclasses import dataclass

from libs.assignment.language.errors import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A constraint or goal that speaks against some containers for an object.

    name        the name of the spec
    containers  the number of these containers
    least       the smallest growth by a move to one of them: of the excess of a constraint (MoveExplained.over_by),
                or of the weighted cost of a goal
    least_in    the container with the smallest growth
    """

    name: str
    containers: int
    least: float
    least_in: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """All containers except the container of one object, grouped by the reason against a move of the object there.

    object, container  the names of the object and of its container
    others             the number of all other containers
    forbidden          containers that hard constraints forbid, by the constraint that would be broken most
    dearer             containers that would make the objective worse, by the constraint or goal that would lose most
    same               containers that would make no difference
    better             containers that would be better by this move alone: a search that ended early missed them
    """

    object: str
    container: str
    others: int
    forbidden: tuple[Reason, ...]
    dearer: tuple[Reason, ...]
    same: tuple[str, ...]
    better: tuple[str, ...]

    def in_words(self) -> str:
        """Return lines of text: the forbidden containers, the containers that are dearer, and all others."""
        lines = [f"{self.object} is in {self.container}; of {self.others} other containers"]
        for one in self.forbidden:
            lines.append(f"{one.containers} forbidden by {one.name}: over by {one.least:g} at least, in {one.least_in}")
        for one in self.dearer:
            lines.append(f"{one.containers} dearer, mostly by {one.name}: by {one.least:g} at least, in {one.least_in}")
        if self.same:
            lines.append(f"{len(self.same)} as good: {shown(self.same)}")
        if self.better:
            lines.append(f"{len(self.better)} better: {shown(self.better)}; a longer search would find it")
        return "\n  ".join(lines)
