"""Register generators of random arguments by kind of spec."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.fuzz.draw import Draw
from libs.assignment.language.specs.spec import Spec

Generator = Callable[[Draw], Spec]
GENERATORS: dict[str, Generator] = {}
"""Generators by name of the spec. A test fails for a spec without one."""
GOALS_ONLY: set[str] = set()
"""Specs that cannot be constraints."""


def draws(kind: type[Spec], *, goal_only: bool = False) -> Callable[[Generator], Generator]:
    """Register the generator of a kind of spec."""

    def note(generator: Generator) -> Generator:
        GENERATORS[kind.__name__] = generator
        if goal_only:
            GOALS_ONLY.add(kind.__name__)
        return generator

    return note
