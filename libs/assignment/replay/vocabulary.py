"""The classes that a replay file may name: specs, what they are stated in, limits and options of solvers."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import pkgutil
from enum import Enum
from types import ModuleType

from libs.assignment import partitioning, solvers, specs
from libs.assignment.flavour import Flavour

PACKAGES: tuple[ModuleType, ...] = (specs, solvers, partitioning)


@functools.cache
def vocabulary() -> dict[str, type]:
    """By name: every dataclass and enum that these packages define."""
    found: dict[str, type] = {Flavour.__name__: Flavour}
    for package in PACKAGES:
        for module in pkgutil.iter_modules(package.__path__):
            loaded = importlib.import_module(f"{package.__name__}.{module.name}")
            for name, one in vars(loaded).items():
                own = isinstance(one, type) and one.__module__ == loaded.__name__ and not name.startswith("_")
                if own and (dataclasses.is_dataclass(one) or issubclass(one, Enum)):
                    found[name] = one
    return found
