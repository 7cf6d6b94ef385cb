"""No pattern for text from outside takes more than linear time."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from libs.observability.logs import redact_text

ROOT = Path(__file__).parents[2]
LENGTH = 100_000
PIECES = (
    *(":", "/", "://", "://a:", "@", " ", "a", "0", "0.", "1,", "-", "_", "{", "{a", "}", "'", "\\", "\n", "%", "."),
    *("plim_", "password='", "password=", "password ", "bearer ", "bearer", "e9", "CSV column #1: Row #1: "),
    *("CSV column #1: Row #1: x invalid value ", "x://\\:", "http://a:b "),
)


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield every pattern of libs and services: those in variables, and those in calls."""
    for path in sorted([*ROOT.glob("libs/**/*.py"), *ROOT.glob("services/**/*.py")]):
        text = path.read_text()
        if not re.search(r"^import re$", text, re.MULTILINE):
            continue
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                yield f"{module.__name__}.{name}", value
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if ast.unparse(node.func.value) == "re" and node.func.attr not in ("compile", "escape"):
                # A composed pattern contains our own names: any will do.
                found = eval(ast.unparse(node.args[0]), vars(module) | {"noun": "moves"})
                yield f"{module.__name__}:{node.lineno}", re.compile(found)


FOUND = dict(patterns())


def test_the_patterns_are_found() -> None:
    assert {"libs.observability.logs._SECRET_VALUES", "libs.interchange.files.world_table._BAD_VALUE"} <= set(FOUND)
    assert len(FOUND) > 10


@pytest.mark.timeout(60)  # a quadratic pattern takes minutes, a linear one a moment
@pytest.mark.parametrize("name", FOUND)
def test_a_pattern_takes_time_in_proportion_to_its_text(name: str) -> None:
    for piece in PIECES:
        text = (piece * LENGTH)[:LENGTH]
        for hostile in (text, f"{text}\0", f"x{text}!"):
            FOUND[name].sub("", hostile)
            FOUND[name].fullmatch(hostile)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", PIECES)
def test_redaction_takes_time_in_proportion_to_its_text(piece: str) -> None:
    text = (piece * LENGTH)[:LENGTH]
    for hostile in (text, f"://{text}", f"{text}@", f"{text} \0"):
        assert len(redact_text(hostile)) <= 20 * LENGTH
