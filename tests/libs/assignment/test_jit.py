"""Compiled code is kept, wherever that is possible, and never served after what it was made of has changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from libs.assignment.prices import jit as jit_of_prices
from libs.assignment.prices.greedy import place
from libs.assignment.search import jit
from libs.assignment.search.descent import descend

MODULE = """
from libs.assignment.search.jit import compiled, part
@part
def inner(x):
    return x + {added}
@compiled
def outer(x):
    return inner(x) * 2
"""
ASK = "import kernels; print(kernels.outer(1), sum(kernels.outer.stats.cache_hits.values()))"


def ask(folder: Path, stamp: str, **environment: str) -> str:
    """Call the kernel in a process of its own whose kernel files have this digest."""
    code = f"import libs.assignment.search.jit as jit; jit.STAMP = ({stamp!r}, 1); {ASK}"
    paths = os.pathsep.join([str(folder), str(Path(__file__).parents[3])])
    ran = subprocess.run(
        [sys.executable, "-B", "-c", code],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.strip()


def test_a_second_process_takes_what_the_first_has_compiled(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(MODULE.format(added=1))
    assert ask(tmp_path, "one") == "4 0"
    assert ask(tmp_path, "one") == "4 1"
    (tmp_path / "kernels.py").write_text(MODULE.format(added=5))
    assert ask(tmp_path, "two") == "12 0"


def test_without_any_place_for_a_cache_it_still_runs(tmp_path: Path) -> None:
    source = tmp_path / "kernels.py"
    source.write_text(MODULE.format(added=1))
    (tmp_path / "__pycache__").write_text("a file where the folder would go")
    nowhere = str(tmp_path / "__pycache__" / "home")
    assert ask(tmp_path, "one", HOME=nowhere, XDG_CACHE_HOME=nowhere) == "4 0"


def test_each_package_has_a_stamp_of_its_own_files() -> None:
    assert jit.stamp_of(Path(jit_of_prices.__file__).parent) == jit_of_prices.STAMP
    assert jit_of_prices.STAMP != jit.STAMP
    assert place._cache._cache_file._source_stamp == jit_of_prices.STAMP
    assert descend._cache._cache_file._source_stamp == jit.STAMP


def test_the_stamp_is_that_of_the_kernel_files(tmp_path: Path) -> None:
    copy = tmp_path / "search"
    shutil.copytree(jit.HERE, copy)
    assert jit.stamp_of(copy) == jit.STAMP
    (copy / "moves" / "swap.py").write_text("changed")
    assert jit.stamp_of(copy) != jit.STAMP
