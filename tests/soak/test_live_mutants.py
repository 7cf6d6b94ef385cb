"""Find each planted fault in a running platform in one process. Set SOAK_KEPT=FOLDER to run this.

The usual run judges a recording of each instead. Design 0007 lists the time until each was found.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from soak.history import History
from soak.judge import judge
from soak.mutants.plant import MUTANTS

ROOT = Path(__file__).parents[2]
SITE = ROOT / "soak" / "mutants" / "site"
WORK_S = 40
KEPT = os.environ.get("SOAK_KEPT")
"""Folder for the histories, which are then shrunk into tests/soak/mutants."""

pytestmark = [pytest.mark.soak, pytest.mark.skipif(not KEPT, reason="takes minutes; set SOAK_KEPT to a folder")]


def rules_broken(mutant: str, database_url: str, folder: Path) -> set[str]:
    history = folder / "history.jsonl"
    env = os.environ | {"SOAK_MUTANT": mutant, "PYTHONPATH": os.pathsep.join(map(str, (SITE, ROOT)))}
    command = [sys.executable, "-m", "tests.soak.inline", database_url, str(history), str(WORK_S)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    if KEPT:
        shutil.copyfile(history, Path(KEPT) / f"{mutant}.jsonl")
    found = History.read(history)
    no_finding = {"comes_to_rest"} | (set() if found.final else {"done_is_kept"})  # the machine may be slow
    return {violation.rule for violation in judge(found)} - no_finding


@pytest.mark.parametrize("mutant", sorted(MUTANTS))
def test_it_is_found(mutant: str, database_url: str, tmp_path: Path) -> None:
    assert rules_broken(mutant, database_url, tmp_path)


def test_without_a_mutant_nothing_is_found(database_url: str, tmp_path: Path) -> None:
    assert rules_broken("", database_url, tmp_path) == set()
