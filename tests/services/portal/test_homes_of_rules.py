"""Each rule of promises has one home."""

import ast
from pathlib import Path

import pytest


def comparing(tree: ast.AST) -> set[str]:
    """Return the names of attributes that a comparison or a condition of this code reads."""
    conditions = [n for n in ast.walk(tree) if isinstance(n, ast.Compare | ast.BoolOp)]
    conditions += [n.test for n in ast.walk(tree) if isinstance(n, ast.If | ast.IfExp)]
    # Any code may ask whether there is a limit at all.
    told = [n for n in ast.walk(tree) if isinstance(n, ast.Compare) and isinstance(n.ops[0], ast.Is | ast.IsNot)]
    ignored = {id(part) for one in told for part in ast.walk(one)}
    parts = [part for one in conditions for part in ast.walk(one) if id(part) not in ignored]
    return {part.attr for part in parts if isinstance(part, ast.Attribute)}


@pytest.mark.parametrize(
    ("attribute", "homes"),
    [
        ("limit_cost_units", {"portal/quota_rule.py"}),
        ("pending_cost_units", {"portal/quota_rule.py"}),
        # the rule is in libs/domain; the broker asks whether an override of maintenance waits for an approval at all
        ("four_eyes", {"broker/ask_maintenance.py"}),
    ],
)
def test_nothing_else_decides_by_what_a_rule_reads(attribute: str, homes: set[str]) -> None:
    services = Path(__file__).parents[3] / "services"
    deciding = {
        path.relative_to(services).as_posix()
        for path in services.rglob("*.py")
        if "cli" not in path.parts and attribute in comparing(ast.parse(path.read_text()))
    }
    assert deciding == homes
