"""The command line against a platform of its own: every process real, told in order."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from libs.domain.reservation import ReservationSpec
from libs.interchange.region_files import save_region
from services.cli.get import COLUMNS
from services.standalone.processes import Command, Process
from tests.builders.region import region_image

Plimsoll = Callable[..., subprocess.CompletedProcess[str]]
SPEC = ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0})


@pytest.fixture(scope="module")
def plimsoll(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plimsoll]:
    state = tmp_path_factory.mktemp("state")
    env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    env |= {"PLIMSOLL_STATE_DIR": str(state), "PLIMSOLL_SIMULATED_DELAY": "0", "COLUMNS": "200"}
    command = [sys.executable, "-m", "services.cli.main"]
    up = Command(
        name="up",
        argv=[*command, "up"],
        env=env,
        ready=(state / "endpoint.json").exists,
        cwd=Path(__file__).parents[3],
    )
    process = Process(up, state)
    process.wait_ready(120)

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        argv = [*command, *map(str, arguments)]
        return subprocess.run(argv, env=env, cwd=up.cwd, capture_output=True, text=True, timeout=120, check=False)

    yield run
    process.stop(60)


def document(done: subprocess.CompletedProcess[str]) -> dict:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_region_from_import_to_export(plimsoll: Plimsoll, tmp_path: Path) -> None:
    for name in ("west", "east"):
        image = region_image(name, msbs=4, servers_per_rack=6, reservations={"old": SPEC}, current={"server-00": "old"})
        save_region(image, tmp_path / name)
        assert plimsoll("import", tmp_path / name).returncode == 0
    again = plimsoll("import", tmp_path / "west")
    assert (again.returncode, "west" in again.stderr) == (1, True)

    created = plimsoll("create", "web", "-r", "west", "--owner", "a", "--count", 6, "-t", "hw-a")
    assert created.returncode == 0, created.stderr
    assert "granted" in created.stdout
    huge = plimsoll("create", "huge", "-r", "west", "--owner", "a", "--count", 600, "-t", "hw-a")
    assert (huge.returncode, "BeyondRegion" in huge.stdout) == (2, True)
    typo = plimsoll("create", "typo", "-r", "west", "--owner", "a", "--count", 1, "-t", "hw-b")
    assert (typo.returncode, "did you mean hw-a" in typo.stderr) == (1, True)
    dry = document(plimsoll("resize", "web", "-r", "west", "--count", 9, "--dry-run", "-o", "json"))
    assert dry["status"]["phase"] == "granted"
    assert document(plimsoll("get", "reservations", "web", "-o", "json"))["spec"]["capacity_rru"] == 6

    for name in ("east", "west"):  # each follows the run of its own region
        run = document(plimsoll("plan", name, "-o", "json"))
        assert (run["region"], run["error"]) == (name, None)
        assert run["status"] in ("committed", "unchanged")

    assert "there are more" in plimsoll("get", "servers", "--limit", 47).stderr
    assert plimsoll("get", "servers", "--limit", 48).stderr == ""
    assert "has begun" in plimsoll("drain", "msb", "msb-00", "-r", "west").stdout
    assert "has ended" in plimsoll("drain", "msb", "msb-00", "-r", "west", "--end").stdout
    assert "no open planned event" in plimsoll("drain", "msb", "msb-00", "-r", "west", "--end").stdout
    assert plimsoll("resize", "web", "-r", "west", "--count", 3).returncode == 0
    assert "granted" in plimsoll("delete", "web", "-r", "west").stdout
    out = plimsoll("export", "west", "--out", tmp_path / "today")
    assert out.returncode == 0, out.stderr
    solved = plimsoll("solve", tmp_path / "today", "--out", tmp_path / "a.parquet")
    assert (solved.returncode, "above a bound" in solved.stdout) == (0, True)


def test_every_noun_is_listed(plimsoll: Plimsoll) -> None:
    for noun, columns in COLUMNS.items():
        listed = plimsoll("get", noun.value)
        assert (listed.returncode, listed.stderr) == (0, ""), noun
        assert listed.stdout.split()[0] == next(iter(columns)).split()[0]
        assert isinstance(document(plimsoll("get", noun.value, "-o", "json"))["items"], list)


def test_tokens(plimsoll: Plimsoll) -> None:
    token = document(plimsoll("token", "create", "reader", "--role", "viewer", "-o", "json"))
    assert token["secret"].startswith("plim_")
    assert plimsoll("token", "revoke", token["token_id"]).returncode == 0
    assert plimsoll("token", "revoke", 999).returncode == 1


def test_nobody_there(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "PLIMSOLL_STATE_DIR": str(tmp_path), "HOME": str(tmp_path)}
    argv = [sys.executable, "-m", "services.cli.main", "get", "regions"]
    done = subprocess.run(argv, env=env, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)
    assert (done.returncode, "plimsoll up" in done.stderr) == (1, True)
