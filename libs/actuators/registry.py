"""Actuators by name. A new one is a file in this folder with a function `create(clock) -> Actuator`."""

from __future__ import annotations

import importlib
import pkgutil

import libs.actuators
from libs.actuators.actuator import Actuator
from libs.reconcile.clock import Clock

_NOT_ACTUATORS = frozenset({"actuator", "registry", "signature"})


def actuator_names() -> frozenset[str]:
    """Return the names of the actuators: those of their files."""
    return frozenset(module.name for module in pkgutil.iter_modules(libs.actuators.__path__)) - _NOT_ACTUATORS


def create_actuator(name: str, clock: Clock) -> Actuator:
    """Return the actuator of this name, with settings from the environment. Import only its file. Raises ValueError."""
    if name not in actuator_names():
        raise ValueError(f"there is no actuator {name}: choose one of {', '.join(sorted(actuator_names()))}")
    actuator: Actuator = importlib.import_module(f"libs.actuators.{name}").create(clock)
    return actuator
