"""libs/reconcile/jobs.py lists every kind of job once, and the list is true."""

import ast
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import pytest

from libs.reconcile.jobs import CYCLES, LOOPS, WORLD_CYCLES, Worker
from services.standalone.worker import jobs_of

ROOT = Path(__file__).parents[3]
LIST = ROOT / "libs" / "reconcile" / "jobs.py"
FILES = sorted(
    chain.from_iterable((ROOT / folder).rglob("*.py") for folder in ("libs", "services", "soak", "benchmarks"))
)
UNMISTAKABLE = {kind for kind in LOOPS if "_" in kind}
"""Names that only kinds of jobs have. Other kinds are common words: "solve" is also a command, a plan's kind, a
span.
"""
JOB_CALLS = {"job", "enqueue", "put_job", "drop_queued"}
JOB_NAMES = {"job_kind", "JOB_KIND"}


def literals(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield string literals that name a kind of job."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
        and isinstance(node.body[0].value, ast.Constant)
    }
    for node in ast.walk(tree):
        if id(node) not in docstrings:
            yield from (one for one in _kinds_in(node) if isinstance(one, ast.Constant) and one.value in LOOPS)


def _kinds_in(node: ast.AST) -> Sequence[ast.expr | None]:
    """Return the expressions in a node that would be kinds of jobs if they were literals."""
    match node:
        case ast.Constant() if node.value in UNMISTAKABLE:
            return [node]
        case ast.Call() if _name(node.func) in JOB_CALLS or "STALE.count" in ast.unparse(node.func):
            return [*node.args, *(keyword.value for keyword in node.keywords)]
        case ast.keyword() if node.arg in JOB_NAMES:
            return [node.value]
        case ast.Assign() if {_name(target).strip("_") for target in node.targets} & JOB_NAMES:
            return [node.value]
        case ast.Dict() if any(_is_number(value) for value in node.values):  # periods by kind
            return node.keys
    return []


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def test_nothing_else_spells_a_kind() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{literal.lineno}: {literal.value}"
        for path in FILES
        if path != LIST
        for literal in literals(ast.parse(path.read_text()))
    }
    assert sorted(found) == []


@pytest.mark.parametrize(
    "code",
    [
        '@job("solve")\ndef solve(run): pass',
        'enqueue(tx, "move", region)',
        'drop_queued(tx, kind="assess", subject=s)',
        'cancel(tx, job_kind="simulate")',
        '_JOB_KIND = "solve"',
        'CYCLES = {"solve": 3600.0, "move": 5.0}',
        'DRAW = "draw_replacements"',
        'STALE.count("plan")',
    ],
)
def test_a_kind_that_is_spelled_out_is_found(code: str) -> None:
    assert list(literals(ast.parse(code)))


@pytest.mark.parametrize("worker", list(Worker))
def test_each_worker_runs_the_kinds_that_the_list_gives_it(worker: Worker) -> None:
    kinds = {kind.name for jobs in jobs_of(worker) for kind in jobs.kinds}
    assert kinds == {loop.name for loop in LOOPS.values() if loop.worker is worker}


def test_a_kind_has_a_lane_where_it_is_asked_for_with_one() -> None:
    asked = [
        (node.args[1], any(keyword.arg == "lane" for keyword in node.keywords))
        for path in FILES
        if path.parts[len(ROOT.parts)] in ("libs", "services")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and _name(node.func) == "enqueue"
    ]
    by_constant = {kind.upper(): loop.lane for kind, loop in LOOPS.items()}
    found = {(_name(kind), lane) for kind, lane in asked if _name(kind) in by_constant}
    assert found >= {("ASSESS", True), ("MOVE", False)}
    assert {(kind, by_constant[kind]) for kind, _ in found} == found


def test_periods_are_those_of_the_list() -> None:
    assert set(CYCLES) | set(WORLD_CYCLES) == {loop.name for loop in LOOPS.values() if loop.every_s is not None}
    assert not set(CYCLES) & set(WORLD_CYCLES)
    assert CYCLES["solve"] == 3600.0
