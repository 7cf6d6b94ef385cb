"""Compiled code is cached if possible, and never used after a change of its sources."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from libs.assignment.kernels import jit
from libs.assignment.solvers.local.descent import descend
from libs.assignment.solvers.price import greedy

ROOT = Path(__file__).parents[4]
SEARCH = ROOT / "libs/assignment/solvers/local"

MODULE = """
from libs.assignment.kernels.jit import compiled, part
@part
def inner(x):
    return x + {added}
@compiled
def outer(x):
    return inner(x) * 2
"""
ASK = "import kernels; print(kernels.outer(1), sum(kernels.outer.stats.cache_hits.values()))"


def ask(folder: Path, **environment: str) -> str:
    """Call the kernel in a process of its own."""
    paths = os.pathsep.join([str(folder), str(ROOT)])
    ran = subprocess.run(
        [sys.executable, "-B", "-c", ASK],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.strip()


def test_a_second_process_takes_what_the_first_has_compiled(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(MODULE.format(added=1))
    assert ask(tmp_path) == "4 0"
    assert ask(tmp_path) == "4 1"
    (tmp_path / "kernels.py").write_text(MODULE.format(added=5))
    assert ask(tmp_path) == "12 0"


def test_without_any_place_for_a_cache_it_still_runs(tmp_path: Path) -> None:
    source = tmp_path / "kernels.py"
    source.write_text(MODULE.format(added=1))
    (tmp_path / "__pycache__").write_text("a file where the folder would go")
    nowhere = str(tmp_path / "__pycache__" / "home")
    assert ask(tmp_path, HOME=nowhere, XDG_CACHE_HOME=nowhere) == "4 0"


def test_a_kernel_is_stamped_with_what_it_is_made_of_and_nothing_else() -> None:
    of_search = {str(file.relative_to(ROOT)) for file in jit.sources_of(SEARCH / "anneal.py")}
    inside = ("solvers/local/anneal", "solvers/local/moves/swap", "incremental/stack", "incremental/tables")
    assert {f"libs/assignment/{name}.py" for name in inside} <= of_search
    # two imports away, and one of its numbers is compiled in
    assert "libs/assignment/language/expressions/step.py" in of_search
    outside = ("solvers/local/soft_limits", "solvers/local/hot_spots", "solvers/local/walk", "incremental/pack")
    assert not {f"libs/assignment/{name}.py" for name in outside} & of_search
    assert jit.stamp_of(Path(greedy.__file__)) != jit.stamp_of(SEARCH / "anneal.py")
    assert greedy.place._cache._cache_file._source_stamp == jit.stamp_of(Path(greedy.__file__))
    assert descend._cache._cache_file._source_stamp == jit.stamp_of(SEARCH / "descent.py")


def read_again() -> None:
    jit._imported.cache_clear()
    jit.stamp_of.cache_clear()


def test_a_stamp_changes_with_a_file_that_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "libs/assignment"
    shutil.copytree(ROOT / "libs/assignment", copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(jit, "ROOT", tmp_path)
    kernel = copy / "incremental/sparse_cells.py"
    stamps = []
    for file in ("solvers/local/solver.py", "language/arrays.py"):
        read_again()
        stamps.append(jit.stamp_of(kernel))
        with (copy / file).open("a") as more:
            more.write("# changed\n")
    read_again()
    assert stamps[0] == stamps[1] != jit.stamp_of(kernel)


def first_calls(warm: str) -> dict[str, list[str]]:
    """Return kernels without code after `warm`, and those that the first page then still compiles, in one new
    process.
    """
    ran = subprocess.run(
        [sys.executable, "-c", FIRST_CALLS.format(warm=warm)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, list[str]] = json.loads(ran.stdout.splitlines()[-1])
    return found


FIRST_CALLS = """
import json, re
from pathlib import Path
from libs.assignment.kernels.jit import KERNELS
from libs.assignment.warm import warm
{warm}
before = {{id(kernel): len(kernel.signatures) for kernel in KERNELS}}
cold = [kernel.__name__ for kernel in KERNELS if not kernel.signatures]
page = Path("docs/assignment/README.md").read_text()
names = {{"__name__": "page"}}
for code in re.findall("```python\\n(.*?)```", page, re.DOTALL):
    exec(code.replace("time_s_max=10", "time_s_max=600, relative_gap=0.3"), names)
more = [kernel.__name__ for kernel in KERNELS if len(kernel.signatures) > before.get(id(kernel), 0)]
print(json.dumps({{"cold": cold, "more": more}}))
"""


def test_after_warm_nothing_on_the_first_page_compiles() -> None:
    assert first_calls("warm()") == {"cold": [], "more": []}


def test_that_the_first_page_compiles_where_warm_was_not_called_is_seen() -> None:
    assert "try_moves" in first_calls("")["more"]
