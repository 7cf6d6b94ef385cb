"""A short soak with a seed of its own: the whole command, real processes, and nothing found.

Where no disk can be filled it goes without that; test_disk.py is then skipped and says why.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from soak.history import History
from soak.judge import judge

ROOT = Path(__file__).parents[2]


@pytest.mark.soak
def test_a_short_soak_finds_nothing(tmp_path: Path) -> None:
    recorded = tmp_path / "history.jsonl"
    sizes = ["--duration", "15", "--fault-every", "1.5", "--clients", "3", "--region-servers", "60", "--settle", "100"]
    command = [sys.executable, "-m", "soak", "faults", "--seed", "11", "--history", str(recorded), *sizes]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    history = History.read(recorded)
    assert any(fault["name"] != "over" for fault in history.faults), "no fault was done: there was nothing to survive"
    assert judge(history) == []
