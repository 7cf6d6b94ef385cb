"""The small disk is full after filling, and has room again afterwards."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = """
import errno, sys
from pathlib import Path
from soak.disk import NoSmallDisk, SmallDisk
folder = Path(sys.argv[1])
try:
    disk = SmallDisk(folder, 1 << 20)
except NoSmallDisk as error:
    sys.exit(f"no small disk: {error}")
(folder / "before").write_bytes(bytes(100_000))
assert disk.fill() > 900_000
try:
    (folder / "while").write_bytes(bytes(100_000))
except OSError as error:
    assert error.errno == errno.ENOSPC, error
else:
    raise AssertionError("it was not full")
assert len((folder / "before").read_bytes()) == 100_000
disk.empty()
(folder / "after").write_bytes(bytes(100_000))
disk.close()
assert list(folder.iterdir()) == [], "what is below it is seen again"
"""


def test_it_can_be_filled_and_emptied(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CODE, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    if done.stderr.startswith("no small disk"):
        pytest.skip(f"so the soak fills none either: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == [], "nobody else sees it"
