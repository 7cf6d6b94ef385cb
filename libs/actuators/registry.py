"""Actuators by name. A new one is one file in this folder, with a function `create(clock) -> Actuator`."""

from __future__ import annotations

import importlib
import pkgutil

import libs.actuators
from libs.actuators.actuator import Actuator
from libs.reconcile.clock import Clock

_NOT_ACTUATORS = frozenset({"actuator", "registry", "signature"})


def actuator_names() -> frozenset[str]:
    """What there is: the names of the files."""
    return frozenset(module.name for module in pkgutil.iter_modules(libs.actuators.__path__)) - _NOT_ACTUATORS


def create_actuator(name: str, clock: Clock) -> Actuator:
    """The actuator of this name; it reads its own settings. Only its file is imported. Raises ValueError."""
    if name not in actuator_names():
        raise ValueError(f"there is no actuator {name}: choose one of {', '.join(sorted(actuator_names()))}")
    actuator: Actuator = importlib.import_module(f"libs.actuators.{name}").create(clock)
    return actuator
