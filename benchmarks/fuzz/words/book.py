"""Generators of random words, by kind of spec."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.fuzz.draw import Draw
from libs.assignment.language.specs.spec import Spec

Generator = Callable[[Draw], Spec]
GENERATORS: dict[str, Generator] = {}
"""By the name of the spec: a spec without one fails a test."""
GOALS_ONLY: set[str] = set()
"""Specs that can be no constraints."""


def draws(kind: type[Spec], *, goal_only: bool = False) -> Callable[[Generator], Generator]:
    """Note how words for a kind of spec are drawn."""

    def note(generator: Generator) -> Generator:
        GENERATORS[kind.__name__] = generator
        if goal_only:
            GOALS_ONLY.add(kind.__name__)
        return generator

    return note
