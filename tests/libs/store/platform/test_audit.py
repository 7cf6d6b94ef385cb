"""A signature shows which side appends an audit entry: docs/adr/0039."""

import ast
from pathlib import Path

import pytest

STORE = Path(__file__).parents[4] / "libs" / "store"
FUNCTIONS = {
    f"{path.stem}.{one.name}": one
    for path in sorted(STORE.rglob("*.py"))
    if path.name != "audit.py"
    for one in ast.walk(ast.parse(path.read_text()))
    if isinstance(one, ast.FunctionDef)
}


def takes_actor(function: ast.FunctionDef) -> bool:
    return "actor" in {one.arg for one in [*function.args.args, *function.args.kwonlyargs]}


def uses_audit(function: ast.FunctionDef) -> bool:
    return "audit" in {one.id for one in ast.walk(function) if isinstance(one, ast.Name)}


def appends(function: ast.FunctionDef, seen: frozenset[str] = frozenset()) -> bool:
    """Return whether a function appends an entry, or calls a function of the store that takes the actor and does."""
    calls = {one.func.id for one in ast.walk(function) if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)}
    passed = [one for one in FUNCTIONS.values() if one.name in calls - seen and takes_actor(one)]
    return uses_audit(function) or any(appends(one, seen | calls) for one in passed)


@pytest.mark.parametrize("name", [name for name, one in FUNCTIONS.items() if takes_actor(one)])
def test_a_function_that_takes_the_actor_appends_its_entry(name: str) -> None:
    assert appends(FUNCTIONS[name])


def test_no_other_function_appends_one() -> None:
    assert [name for name, one in FUNCTIONS.items() if uses_audit(one) and not takes_actor(one)] == []
