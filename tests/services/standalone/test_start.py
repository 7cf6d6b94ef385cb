"""Check that a start does not wait for slow imports, and that its settings last to the next start."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from libs.reconcile.clock import SystemClock
from libs.reconcile.jobs import Worker
from services.standalone import platform
from services.standalone.platform import _listen
from services.standalone.postgres_cluster import PostgresUnavailable
from services.standalone.settings import StandaloneSettings
from services.standalone.supervisor import listen
from services.standalone.worker import jobs_of

SOLVERS = {"scipy", "highspy", "numba"}


def loaded(code: str) -> set[str]:
    """Return the packages that are loaded after running this code."""
    code += "\nimport json, sys; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(json.loads(ran.stdout))


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import services.standalone.api", SOLVERS),
        ("from services.portal.api import API", SOLVERS),
        ("import services.standalone.platform", {"sqlalchemy", "alembic", "fastapi", *SOLVERS}),
        ("import services.cli.up, services.standalone.platform", {"sqlalchemy", "alembic", "fastapi"}),
        ("from services.standalone.worker import jobs_of; jobs_of('planner')", {"numba"}),
        ("from services.standalone.worker import jobs_of; jobs_of('others')", {"networkx"}),
    ],
)
def test_a_process_loads_what_it_needs_to_start(code: str, absent: set[str]) -> None:
    assert loaded(code) & absent == set()


def test_counting_a_request_without_resources_loads_no_solver() -> None:
    asks = """
from libs.domain.cost_units import CostTable, most_cost_units
from libs.domain.reservation import ReservationSpec
spec = ReservationSpec(capacity_rru=10, rru={"a": 1.0, "b": 2.0})
assert most_cost_units(spec, CostTable(units={}, msbs={}, affinity_tolerance=0.0)) > 0"""
    assert loaded(asks) & SOLVERS == set()


def test_an_app_loads_the_solver_once_it_is_made() -> None:
    wait = "import threading; [t.join() for t in threading.enumerate() if t.name == 'load-solving-code']"
    code = f"from services.portal.solving_code import load_solving_code; load_solving_code(); {wait}"
    assert loaded(code) >= SOLVERS


def test_the_parts_of_a_worker_are_all_of_it_and_share_no_job() -> None:
    names = [kind.name for part in Worker for jobs in jobs_of(part) for kind in jobs.kinds]
    assert sorted(names) == sorted({kind.name for jobs in jobs_of("all") for kind in jobs.kinds})


def test_the_port_is_the_last_one_again_where_it_is_free(tmp_path: Path) -> None:
    kept = tmp_path / "port"
    with _listen("127.0.0.1", 0, kept) as first:
        port = first.getsockname()[1]
    kept.write_text(f"{port}\n")
    with _listen("127.0.0.1", 0, kept) as second:
        assert second.getsockname()[1] == port
        with _listen("127.0.0.1", 0, kept) as third:  # another socket has it
            other = third.getsockname()[1]
    assert other != port
    with _listen("127.0.0.1", port, kept) as named:
        assert named.getsockname()[1] == port


def test_a_second_start_in_the_same_folder_leaves_the_port_to_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = StandaloneSettings.model_validate({"PLIMSOLL_STATE_DIR": tmp_path})

    def refuse(*_: object) -> str:
        raise PostgresUnavailable("in use")

    monkeypatch.setattr(platform, "provide_database", refuse)
    with listen() as first:
        settings.port_file.write_text(f"{first.getsockname()[1]}\n")
        with pytest.raises(PostgresUnavailable), platform.running_platform(settings, clock=SystemClock()):
            pass
        assert int(settings.port_file.read_text()) == first.getsockname()[1]


@pytest.mark.parametrize("text", ["", "no number", "70000", "-1"])
def test_a_file_that_names_no_port_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / "port").write_text(text)
    with _listen("127.0.0.1", 0, tmp_path / "port") as sock:
        assert sock.getsockname()[1] > 0


def test_a_port_that_is_named_and_taken_is_refused(tmp_path: Path) -> None:
    with listen() as taken, pytest.raises(OSError, match=r"already in use\. Choose another --host"):
        _listen("127.0.0.1", taken.getsockname()[1], tmp_path / "port")
