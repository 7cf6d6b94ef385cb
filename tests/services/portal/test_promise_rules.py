"""The rules of promises are exact, and have one home."""

import ast
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libs.domain.approval import ApprovalLimits
from libs.domain.quota import Quota
from services.portal.promise_rules import exceeds_quota, lacks_second_person

AMOUNTS = st.floats(0, 1e6)


def quota(limit_cost_units: float | None, used_cost_units: float = 0.0, pending_cost_units: float = 0.0) -> Quota:
    return Quota(
        region="west",
        owner="team",
        limit_cost_units=limit_cost_units,
        used_cost_units=used_cost_units,
        pending_cost_units=pending_cost_units,
        generation=1,
    )


@given(used=AMOUNTS, pending=AMOUNTS, asked=st.floats(1e-6, 1e6))
def test_the_last_bit_counts(used: float, pending: float, asked: float) -> None:
    limit = used + pending + asked
    assert not exceeds_quota(quota(limit, used, pending), asked=asked, had=0.0)
    assert exceeds_quota(quota(math.nextafter(limit, 0.0), used, pending), asked=asked, had=0.0)


def test_less_is_never_refused_and_no_limit_is_none() -> None:
    assert not exceeds_quota(quota(1, used_cost_units=5), asked=3, had=3)
    assert exceeds_quota(quota(1, used_cost_units=5), asked=3.5, had=3)
    assert not exceeds_quota(quota(None, used_cost_units=5), asked=1e9, had=0)


@pytest.mark.parametrize(
    ("four_eyes", "actor", "lacks"), [(True, "olga", True), (True, "otto", False), (False, "olga", False)]
)
def test_a_second_person_is_anybody_who_did_not_ask(four_eyes: bool, actor: str, lacks: bool) -> None:
    assert lacks_second_person(ApprovalLimits(four_eyes=four_eyes), ["rita", "olga"], actor) is lacks


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
        ("limit_cost_units", {"portal/promise_rules.py"}),
        ("pending_cost_units", {"portal/promise_rules.py", "portal/judge.py"}),  # the judge words its message by it
        # the broker asks whether an override of maintenance waits for an approval at all
        ("four_eyes", {"portal/promise_rules.py", "broker/ask_maintenance.py"}),
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
