"""List every spec. Importing this module registers them all."""

from __future__ import annotations

import importlib
import pkgutil

from libs.assignment.language import specs
from libs.assignment.language.specs.spec import SPECS, Spec

for _module in pkgutil.iter_modules(specs.__path__):
    importlib.import_module(f"{specs.__name__}.{_module.name}")


def all_specs() -> dict[str, type[Spec]]:
    """Return every spec by name."""
    return dict(SPECS)
