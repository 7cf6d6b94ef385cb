import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from services.standalone.exec_child import NOBODY
from services.standalone.postgres import prepared_postgres

REPO = Path(__file__).parents[3]


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], None]:
    """Wait for a condition, for any time up to a limit."""

    def wait(condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + 240
        while not condition():
            assert time.monotonic() < deadline, "waited in vain"
            time.sleep(0.02)

    return wait


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that only we may enter."""
    folder = Path(tempfile.mkdtemp(prefix="plimsoll-test-"))
    assert folder.stat().st_mode & 0o777 == 0o700
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a prepared server."""
    folder = tmp_path_factory.mktemp("made") / "postgres"
    with prepared_postgres(folder, durable=False):
        return folder


@pytest.fixture
def ready(made: Path) -> Callable[[Path], Path]:
    """Copy a prepared folder, a tenth of the work, for tests of other things."""

    def copy(place: Path) -> Path:
        subprocess.run(["cp", "-a", f"{made}/.", place], check=True)
        return place

    return copy


@pytest.fixture
def python() -> Callable[..., list[str]]:
    """The command that runs Python code with ours importable; as an ordinary user if we are root."""

    def argv(code: str, *arguments: object, ordinary: bool = False, user: int = NOBODY) -> list[str]:
        prelude = f"import sys; sys.path.insert(0, {str(REPO)!r})\n"
        if ordinary and os.geteuid() == 0:
            # An ordinary user who can still read the clone, which may lie in a closed home.
            prelude += "from services.standalone.exec_child import drop_root; "
            prelude += f"drop_root({user})\n"
        return [sys.executable, "-c", prelude + code, *map(str, arguments)]

    return argv


def alive(pid: int) -> bool:
    """Return whether a process runs. An ended process that is not reaped does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
