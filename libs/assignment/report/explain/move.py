"""Explain the effect of the move of one object to another container."""

from __future__ import annotations

from dataclasses import dataclass

from libs.assignment.report.explain.change import TermChange


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveExplained:
    """The effect of the move of an object from the container `source` to the container `target`.

    changes       the change of every constraint and goal
    forbidden_by  the hard constraints that would break, or get worse in some element
    over_by       for each of them, the growth of its total excess; if the total does not grow, because other elements
                  shrink, the growth of the elements that get worse
    verdict       -1: the objective would be better; 1: it would be worse; 0: it would be the same
    """

    object: str
    source: str
    target: str
    changes: tuple[TermChange, ...]
    forbidden_by: tuple[str, ...]
    over_by: tuple[float, ...]
    verdict: int

    @property
    def allowed(self) -> bool:
        """Return whether every hard constraint allows the move."""
        return not self.forbidden_by

    def in_words(self) -> str:
        """Return lines of text: the verdict first, then the changes."""
        if not self.allowed:
            said = f"forbidden by {', '.join(self.forbidden_by)}"
        else:
            said = {-1: "allowed, and better", 0: "allowed, and makes no difference", 1: "allowed, but worse"}[
                self.verdict
            ]
        lines = [f"{self.object} from {self.source} to {self.target}: {said}"]
        return "\n  ".join(lines + [one.in_words() for one in self.changes if one.changed])
