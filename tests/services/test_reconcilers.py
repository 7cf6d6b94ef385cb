"""There is one way to write a reconciler, and one way to log (docs/adr/0040)."""

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECONCILERS = sorted(path for path in ROOT.glob("services/*/reconcilers/*.py") if path.name != "__init__.py")
LOGGING = sorted(
    path
    for path in chain.from_iterable((ROOT / folder).rglob("*.py") for folder in ("libs", "services"))
    if "get_logger" in path.read_text()
)
EVENT = re.compile(r"[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*")
LEVELS = {"debug", "info", "warning", "error", "exception"}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def is_log_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in {f"log.{level}" for level in LEVELS}


def events(tree: ast.AST) -> Iterator[str]:
    """Yield the names of a module's log events."""
    for node in ast.walk(tree):
        if is_log_call(node):
            assert isinstance(node, ast.Call)
            assert isinstance(node.args[0], ast.Constant), ast.unparse(node)
            yield str(node.args[0].value)


def test_there_are_reconcilers() -> None:
    assert len(RECONCILERS) >= 15


@pytest.mark.parametrize("path", RECONCILERS, ids=name)
def test_a_reconciler_is_a_frozen_dataclass_named_for_its_file(path: Path) -> None:
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    reconciler = getattr(module, path.stem.title().replace("_", ""))
    assert is_dataclass(reconciler)
    assert reconciler.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert [field.name for field in fields(reconciler) if field.name.startswith("_")] == []
    assert callable(reconciler.reconcile)


@pytest.mark.parametrize("path", LOGGING, ids=name)
def test_a_module_logs_as_itself_and_names_events_alike(path: Path) -> None:
    tree = ast.parse(path.read_text())
    made = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and "get_logger" in ast.unparse(node)]
    assert [ast.unparse(node) for node in made] == ["log = get_logger(__name__)"]
    said = list(events(tree))
    assert said
    assert [event for event in said if EVENT.fullmatch(event) is None] == []
