"""Read every crash point from the source, so that a new one is tested automatically."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def crash_points() -> tuple[str, ...]:
    """Return the names passed to crash_point, in order. Raises AssertionError for a name that is no literal or
    repeated.
    """
    found: list[str] = []
    for path in sorted([*ROOT.glob("libs/**/*.py"), *ROOT.glob("services/**/*.py")]):
        text = path.read_text()
        if "crash_point" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "crash_point":
                (name,) = node.args
                assert isinstance(name, ast.Constant), f"{path}:{node.lineno}: the name must be a literal"
                assert name.value not in found, f"{path}:{node.lineno}: {name.value} is taken"
                found.append(name.value)
    return tuple(sorted(found))
