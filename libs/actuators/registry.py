"""Actuators by name. A new one is a file in this folder with a function `create(clock) -> Actuator`."""

from __future__ import annotations

import importlib
import pkgutil

import libs.actuators
from libs.actuators.actuator import Actuator
from libs.reconcile.clock import Clock

_NOT_ACTUATORS = frozenset({"actuator", "registry", "signature"})


def actuator_names() -> frozenset[str]:
    """Return the names of the actuators. The name of an actuator is the name of its file."""
    return frozenset(module.name for module in pkgutil.iter_modules(libs.actuators.__path__)) - _NOT_ACTUATORS


def create_actuator(name: str, clock: Clock) -> Actuator:
    """Return the actuator called `name`, with settings from the environment. Import only the file of this actuator.
    Raises ValueError for an unknown name.
    """
    if name not in actuator_names():
        raise ValueError(f"there is no actuator {name}: choose one of {', '.join(sorted(actuator_names()))}")
    actuator: Actuator = importlib.import_module(f"libs.actuators.{name}").create(clock)
    return actuator
