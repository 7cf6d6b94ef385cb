"""Problems of a file, with messages that name the place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PROBLEMS_MAX = 20
"""Largest number of problems reported at once. A file of another format would have one in every row."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a file. `row` counts from 0. `row` or `field` is None if the problem is not in a single row or
    field.

    line   line of a text file, counted from 1; messages show the line instead of the row
    """

    file: str
    row: int | None
    field: str | None
    message: str
    line: int | None = None

    def __str__(self) -> str:
        place = self.file if self.field is None else f"{self.file}, {self.field}"
        if self.line is not None:
            return f"{place}, line {self.line}: {self.message}"
        return f"{place}: {self.message}" if self.row is None else f"{place}, row {self.row}: {self.message}"


class InterchangeError(ValueError):
    """A file breaks its format. `problems` holds up to PROBLEMS_MAX problems. The other attributes are those of the
    first problem.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        first = self.problems[0]
        self.file, self.row, self.field, self.message = first.file, first.row, first.field, first.message
        super().__init__("\n".join(map(str, self.problems)))


class Problems:
    """A list of problems, so that one reading of a file reports all of its problems."""

    def __init__(self) -> None:
        self.found: list[Problem] = []

    def add(self, file: str, message: str, *, row: int | None = None, field: str | None = None) -> None:
        """Add a problem once. Problems beyond PROBLEMS_MAX are dropped."""
        problem = Problem(file, row, field, message)
        if not self.full and problem not in self.found:
            self.found.append(problem)

    @property
    def full(self) -> bool:
        """Return whether the list is full, so that further problems are dropped."""
        return len(self.found) >= PROBLEMS_MAX

    def raise_any(self) -> None:
        """Raise InterchangeError if there is any problem."""
        if self.found:
            raise InterchangeError(self.found)
