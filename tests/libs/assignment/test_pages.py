"""Run the pages of docs/assignment to the letter."""

from __future__ import annotations

import builtins
import re
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

from libs.assignment.language.specs.registry import all_specs
from libs.assignment.language.specs.spec import SPECS, Spec

PAGES = Path(__file__).parents[3] / "docs" / "assignment"
CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)
ROUGHLY = "time_s_max=600, relative_gap=0.3"
"""Limits of the pages' solves. They end by the gap, on any machine."""


class Anything(dict[str, Any]):
    """The names that a page takes for granted: its arrays and the problem, but not its imports."""

    def __missing__(self, name: str) -> MagicMock:
        if name[0].isupper() or hasattr(builtins, name):
            raise KeyError(name)
        self[name] = MagicMock(name=name)
        return self[name]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of the first page after running all of it, with a rough gap in place of ten seconds."""
    monkeypatch.setattr("libs.assignment.language.specs.spec.SPECS", dict(SPECS))
    names: dict[str, Any] = {"__name__": __name__}
    for code in CODE.findall((PAGES / "README.md").read_text()):
        exec(code.replace("time_s_max=10", ROUGHLY), names)
    return names


def test_the_first_page_leads_to_an_answer(said: dict[str, Any]) -> None:
    result, problem = said["result"], said["problem"]
    assert result.broken[0] > result.broken[1] == 0
    rack = np.arange(10)[result.assignment] // 2
    together = np.zeros((40, 5))
    np.add.at(together, (np.arange(200) // 5, rack), 1)
    assert together.max() <= 2, "two of a job in a rack"
    ratio = [
        np.bincount(said["shaped"].assignment, problem.dimensions[name].objects, 10) for name in ("memory_gb", "cpu")
    ]
    assert (ratio[0] <= 3.5 * ratio[1] + 1e-6).all(), "the page's own spec"
    assert said["placed"].solver == "mip"
    assert len(said["waiting"])


def test_the_page_of_solvers_runs_on_the_problem_of_the_first(said: dict[str, Any], capsys: Any) -> None:
    for code in CODE.findall((PAGES / "auto.md").read_text()):
        exec(code.replace("time_s_max=60", ROUGHLY).replace("+ 5", "+ 1"), said)
    assert "level 0 is" in capsys.readouterr().out
    assert said["result"].solver == "local"


def test_pages_import_from_the_library_alone() -> None:
    for page in PAGES.glob("*.md"):
        for code in CODE.findall(page.read_text()):
            assert "from libs.assignment." not in code, page.name


def test_the_first_page_leads_to_all_others() -> None:
    text = (PAGES / "README.md").read_text()
    assert {page.name for page in PAGES.glob("*.md")} - {"README.md"} <= set(re.findall(r"\(([\w-]+\.md)\)", text))


@pytest.mark.parametrize("spec", all_specs())
def test_an_example_makes_the_specs_that_it_speaks_of(spec: str) -> None:
    names, codes = Anything(), CODE.findall((PAGES / f"{spec}.md").read_text())
    for code in codes:
        exec(code, {}, names)
    problem = names["problem"]
    assert f"{spec}(" in "".join(codes)
    for call in (*problem.add_goal.call_args_list, *problem.add_constraint.call_args_list):
        assert isinstance(call.args[0], Spec)
    assert problem.add_goal.called or problem.add_constraint.called
