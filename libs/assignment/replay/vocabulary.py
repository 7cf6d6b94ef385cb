"""List the classes that a replay file may name: specs, the types of their fields, and limits and options of solvers."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from types import ModuleType

from libs.assignment.language import flavour, specs
from libs.assignment.language.errors import ModelError
from libs.assignment.solvers import deal, limits, prices
from libs.assignment.solvers.price import settings

Vocabulary = Mapping[str, type]

WORDS: tuple[ModuleType, ...] = (flavour, limits, deal, settings, prices)
"""Modules with the limits and options of solvers, in addition to the files of specs."""


@functools.cache
def language() -> Vocabulary:
    """Return by name every dataclass and enum of specs, and of the limits and options of solvers."""
    return {one.__name__: one for module in (*_modules(specs), *WORDS) for one in _own(module)}


def vocabulary_of(given: Iterable[type]) -> Vocabulary:
    """Return the language with the caller's own classes. A file never names a module to import a class from.

    Raises: ModelError for a class that is no dataclass and no enum, or that has the name of another.
    """
    found = dict(language())
    for one in given:
        if not _has_words(one):
            raise ModelError(f"vocabulary: {one!r} is no dataclass and no enum, so it cannot be in a replay file")
        if found.setdefault(one.__name__, one) is not one:
            raise ModelError(f"vocabulary: another class is named {one.__name__!r} too; give yours another name")
    return found


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    for module in pkgutil.iter_modules(package.__path__):
        yield importlib.import_module(f"{package.__name__}.{module.name}")


def _own(module: ModuleType) -> Iterator[type]:
    for name, one in vars(module).items():
        if _has_words(one) and one.__module__ == module.__name__ and not name.startswith("_"):
            yield one


def _has_words(one: object) -> bool:
    return isinstance(one, type) and (dataclasses.is_dataclass(one) or issubclass(one, Enum))
