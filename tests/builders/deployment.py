"""Facts that a compose file or a manifest must agree with: our programs, their variables, our version."""

import importlib.util
import pkgutil
import subprocess
import sys
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path

from pydantic_settings import BaseSettings

import libs
import services
from libs.reconcile.environment import SECRETS_DIR

ROOT = Path(__file__).parents[2]
OF_OTHERS = {SECRETS_DIR, "MALLOC_ARENA_MAX", "OPENBLAS_NUM_THREADS"}
"""Variables that no settings class declares."""


def program(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program that is installed beside the interpreter."""
    command = [str(Path(sys.executable).parent / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


@cache
def version() -> str:
    """Return the version of this checkout."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


@cache
def known_variables() -> frozenset[str]:
    """Return the name of every variable that some process reads."""
    for package in (libs, services):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            file = importlib.util.find_spec(module.name).origin
            if "Settings)" in Path(file).read_text():
                import_module(module.name)
    waiting, found = list(BaseSettings.__subclasses__()), set(OF_OTHERS)
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        found |= {str(field.validation_alias) for field in kind.model_fields.values()}
    return frozenset(found)


def unknown_variables(names: set[str]) -> set[str]:
    """Return those of our variables that no process reads."""
    return {name for name in names if name.startswith(("PLIMSOLL_", "DATABASE_"))} - known_variables()


def runs(command: list[str]) -> str:
    """Return what a command line runs: a module, and what follows. Fail if there is no such module."""
    assert command[:2] == ["python", "-m"], command
    assert importlib.util.find_spec(command[2]), command
    return " ".join(command[2:])


PROCESSES = {
    "api": "services.standalone.api serve",
    "pages": "services.pages.main serve",
    "worker": "services.standalone.worker others",
    "mover": "services.standalone.worker mover",
    "solver": "services.standalone.worker solver",
    "planner": "services.standalone.worker planner",
    "scheduler": "services.scheduler.main work",
}
HELPERS = {"parts": "services.standalone.worker parts"}
"""Processes that only help those of other machines, so one machine has none."""
OVER_HTTP = {"api", "pages"}
"""The processes that answer HTTP. The others touch a file to show that they are alive."""
