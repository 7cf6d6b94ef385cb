"""Why an object is where it is."""

from __future__ import annotations

from dataclasses import dataclass

from libs.assignment.language.errors import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """What a constraint or goal has against some containers.

    least     by how much, where it has least against it: excess for a constraint, cost in the objective for a goal
    least_in  the container where that is so
    """

    name: str
    containers: int
    least: float
    least_in: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """Every other container, under what decides about it.

    forbidden  the hard constraint that the object would break most
    dearer     the term that would lose most, in the level of the objective that decides
    same       no difference
    better     containers that would be better, alone: a search that ended early has not come to it
    """

    object: str
    container: str
    others: int
    forbidden: tuple[Reason, ...]
    dearer: tuple[Reason, ...]
    same: tuple[str, ...]
    better: tuple[str, ...]

    def in_words(self) -> str:
        """By lines: what is forbidden, what would cost more, what is left."""
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
