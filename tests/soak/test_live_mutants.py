"""Each planted fault is found while the platform runs with it, in one process. Asked for by SOAK_KEPT=FOLDER.

Not part of the usual run, which judges a recording of each: design 0007 says after how long they were found.
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
"""Folder that the histories are left in, to be shrunk and put into tests/soak/mutants."""

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
    return {violation.rule for violation in judge(found)} - (set() if found.final else {"done_is_kept"})


@pytest.mark.parametrize("mutant", sorted(MUTANTS))
def test_it_is_found(mutant: str, database_url: str, tmp_path: Path) -> None:
    assert rules_broken(mutant, database_url, tmp_path)


def test_without_a_mutant_nothing_is_found(database_url: str, tmp_path: Path) -> None:
    assert rules_broken("", database_url, tmp_path) == set()
