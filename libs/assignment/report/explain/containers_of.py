"""Explain the container of an object."""

from __future__ import annotations

from dataclasses import dataclass

from libs.assignment.language.errors import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """The objection of a constraint or goal to some containers.

    least     the smallest objection: excess for a constraint, cost in the objective for a goal
    least_in  the container with the smallest objection
    """

    name: str
    containers: int
    least: float
    least_in: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """Every other container, grouped by the reason against it.

    forbidden  the hard constraint that the object would break most
    dearer     the term that would lose most, in the deciding level of the objective
    same       no difference
    better     containers that would be better by this move alone: a search that ended early missed them
    """

    object: str
    container: str
    others: int
    forbidden: tuple[Reason, ...]
    dearer: tuple[Reason, ...]
    same: tuple[str, ...]
    better: tuple[str, ...]

    def in_words(self) -> str:
        """Return lines of text: forbidden containers, dearer ones, and the rest."""
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
