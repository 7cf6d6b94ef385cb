import itertools
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path

import psycopg
import pytest

from libs.reconcile.call_retries import Backoff
from services.standalone import processes as processes_module
from services.standalone.database import provide_database
from services.standalone.postmaster import live_postmaster
from services.standalone.probe import FileReady, HttpReady
from services.standalone.processes import ChildFailed, Command, Process
from services.standalone.settings import StandaloneSettings
from services.standalone.supervisor import Supervisor, listen
from tests.services.standalone.conftest import alive

Eventually = Callable[[Callable[[], object]], None]
Python = Callable[..., list[str]]

ENV = {"PATH": os.defpath}
# A child with a child: writes both process ids to argv[1], and the signal that ends it.
PARENT = """
import os, signal, subprocess, sys, time
place = sys.argv[1]
grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
def end(number, frame):
    open(place + ".ended", "a").write(str(number))
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
open(place + ".new", "w").write(f"{os.getpid()} {grandchild.pid}")
os.rename(place + ".new", place)
while True:
    time.sleep(1000)
"""
# A supervisor of two such children, in the folder argv[1].
OWNER = (
    f"PARENT = {PARENT!r}\n"
    + """
from pathlib import Path
from services.standalone.processes import Command
from services.standalone.supervisor import Supervisor
home = Path(sys.argv[1])
with Supervisor(home / "logs") as supervisor:
    for name in ("first", "second"):
        place = home / name
        argv = [sys.executable, "-c", PARENT, str(place)]
        supervisor.start(Command(name=name, argv=argv, env={}, ready=place.exists))
    print("ready", flush=True)
    supervisor.run()
"""
)


def parent(home: Path, name: str = "child", *, needed: bool = False) -> Command:
    place = home / name
    argv = [sys.executable, "-c", PARENT, str(place)]
    return Command(name=name, argv=argv, env=ENV, ready=place.exists, needed_by_others=needed)


def pids(place: Path) -> list[int]:
    return [int(pid) for pid in place.read_text().split()]


def test_a_child_is_asked_to_end_and_its_own_children_end_with_it(home: Path, eventually: Eventually) -> None:
    with Supervisor(home / "logs") as supervisor:
        supervisor.start(parent(home))
        child, grandchild = pids(home / "child")
        assert alive(child)
        assert alive(grandchild)
    assert (home / "child.ended").read_text() == str(int(signal.SIGTERM))
    assert not alive(child)
    eventually(lambda: not alive(grandchild))


def test_children_stop_first_and_then_what_they_needed(home: Path) -> None:
    order = []
    with Supervisor(home / "logs") as supervisor:
        supervisor.after_stop.callback(
            lambda: order.append((home / "b.ended").exists() and (home / "a.ended").exists())
        )
        supervisor.start(parent(home, "b"))
        supervisor.start(parent(home, "a", needed=True))
    assert order == [True]
    assert (home / "a.ended").stat().st_mtime_ns >= (home / "b.ended").stat().st_mtime_ns


def test_children_are_asked_to_end_all_at_once(home: Path) -> None:
    """Each ends only after the other was asked, so asked one after the other, none would end."""
    code = """
import os, signal, sys, time
mine, other = sys.argv[1], sys.argv[2]
def end(number, frame):
    open(mine + ".asked", "w")
    while not os.path.exists(other + ".asked"):
        time.sleep(0.01)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
open(mine, "w")
while True:
    time.sleep(1000)
"""
    with Supervisor(home / "logs", stop_s_max=60) as supervisor:
        for mine, other in (("a", "b"), ("b", "a")):
            argv = [sys.executable, "-c", code, str(home / mine), str(home / other)]
            supervisor.start(Command(name=mine, argv=argv, env=ENV, ready=(home / mine).exists))
        processes = [child.process for child in supervisor._children]
    assert [process.exit_status() for process in processes] == [0, 0]


def test_a_child_that_does_not_listen_is_ended_by_force(home: Path) -> None:
    code = "import signal, time, sys; signal.signal(15, signal.SIG_IGN); open(sys.argv[1], 'w'); time.sleep(1000)"
    place = home / "deaf"
    argv = [sys.executable, "-c", code, str(place)]
    process = Process(Command(name="deaf", argv=argv, env=ENV, ready=place.exists), home)
    process.wait_ready()
    assert process.stop(s_max=0.1) == -signal.SIGKILL


def test_all_are_waited_for_also_one_that_dies_at_first(home: Path) -> None:
    code = """
import os, sys, time
seen, place = sys.argv[1] + ".seen", sys.argv[1]
if not os.path.exists(seen):
    open(seen, "w")
    os._exit(3)
open(place, "w")
time.sleep(1000)
"""
    (home / "loop").touch()  # of an earlier run
    ready = FileReady(home / "loop")
    argv = [sys.executable, "-c", code, str(home / "loop")]
    with Supervisor(home / "logs") as supervisor:
        supervisor.start(parent(home, "first"))
        supervisor.launch(Command(name="loop", argv=argv, env=ENV, ready=ready))
        assert not ready()
        supervisor.wait_until_ready()
        assert ready()
        assert supervisor.deaths() == {"loop": 1}


def test_a_child_that_dies_is_started_again(home: Path, eventually: Eventually) -> None:
    with Supervisor(home / "logs") as supervisor:
        supervisor.start(parent(home))
        child, grandchild = pids(home / "child")
        os.kill(child, signal.SIGKILL)

        def back() -> bool:
            supervisor.tend()
            return pids(home / "child")[0] != child

        eventually(back)
        eventually(lambda: not alive(grandchild))
        assert not alive(child)


def test_a_child_that_keeps_dying_is_started_again_for_ever_and_the_others_run(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.standalone.supervisor._RESTARTS", Backoff(0.1, 0.1))
    told: list[str] = []
    with Supervisor(home / "logs", tell=told.append) as supervisor:
        supervisor.start(parent(home, "well"))
        supervisor.start(Command(name="faulty", argv=[sys.executable, "-S", "-c", "raise SystemExit(3)"], env=ENV))
        while supervisor.deaths().get("faulty", 0) < 12:
            supervisor.tend()
        assert supervisor.deaths() == {"faulty": 12}
        assert alive(pids(home / "well")[0])
    assert "faulty died, 12 times in a row (status 3): starts again in 0.1 s" in told[-1]


def test_a_child_that_works_gets_ready_however_long_it_takes(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes fifty probes, and each comes later than a child may be still."""
    used, looks, told = itertools.count(1), itertools.count(), []
    monkeypatch.setattr("services.standalone.processes._cpu_s", lambda pid: float(next(used)))
    monkeypatch.setattr("services.standalone.processes._TOLD_EVERY_S", 0.0)
    argv = [sys.executable, "-c", "import time; time.sleep(1000)"]
    process = Process(Command(name="slow", argv=argv, env=ENV, ready=lambda: next(looks) == 50), home)
    try:
        process.wait_ready(1e-6, tell=told.append)
    finally:
        process.stop()
    assert "slow is starting: " in told[0]


def test_a_child_that_does_nothing_is_given_up_with_its_errors_and_the_last_answer(home: Path) -> None:
    code = """
import json, time
print(json.dumps({"level": "warning", "event": "no such table"}))
for _ in range(100):
    print(json.dumps({"level": "info", "event": "request"}), flush=True)
time.sleep(1000)
"""

    class Never:
        last = "not migrated"

        def __call__(self) -> bool:
            return False

    process = Process(Command(name="idle", argv=[sys.executable, "-c", code], env=ENV, ready=Never()), home)
    try:
        with pytest.raises(ChildFailed) as failed:
            process.wait_ready(2)
    finally:
        process.stop()
    told = str(failed.value)
    assert "idle was not ready after" in told
    assert "it answers: not migrated" in told
    assert "no such table" in told
    assert "request" not in told


def test_a_child_that_ends_before_it_is_ready_shows_its_log(home: Path) -> None:
    command = Command(name="broken", argv=[sys.executable, "-c", "sys"], env=ENV, ready=lambda: False)
    with Supervisor(home / "logs") as supervisor, pytest.raises(ChildFailed, match=r"(?s)status 1.*NameError"):
        supervisor.start(command)


def test_a_program_that_is_not_there_is_named(home: Path) -> None:
    command = Command(name="absent", argv=["/nowhere/absent"], env=ENV, ready=lambda: False)
    with Supervisor(home / "logs") as supervisor, pytest.raises(ChildFailed, match=r"cannot start /nowhere/absent"):
        supervisor.start(command)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_supervisor_and_all_children_in_order(
    home: Path, python: Python, number: signal.Signals
) -> None:
    with subprocess.Popen(python(OWNER, home), stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout.readline() == "ready\n"
        owner.send_signal(number)
        assert owner.wait() == 128 + number
    for name in ("first", "second"):
        assert (home / f"{name}.ended").read_text() == str(int(signal.SIGTERM))
        assert not any(alive(pid) for pid in pids(home / name)[:1])


def test_killed_the_supervisor_leaves_no_child(home: Path, python: Python, eventually: Eventually) -> None:
    with subprocess.Popen(python(OWNER, home), stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout.readline() == "ready\n"
        owner.kill()
        eventually(lambda: not any(alive(pids(home / name)[0]) for name in ("first", "second")))
    for name in ("first", "second"):  # the kernel does not end a killed child's children: we do
        if alive(pids(home / name)[1]):
            os.kill(pids(home / name)[1], signal.SIGKILL)


def test_only_the_main_thread_starts_children(home: Path) -> None:
    failures = []

    def start() -> None:
        try:
            Process(parent(home), home)
        except RuntimeError as failure:
            failures.append(str(failure))

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert "main thread" in failures[0]


def test_a_large_log_is_put_aside(home: Path) -> None:
    with (home / "child.log").open("wb") as log:
        log.truncate(30_000_000)
    Process(parent(home), home).stop()
    assert (home / "child.log.1").stat().st_size == 30_000_000
    assert (home / "child.log").stat().st_size < 1_000_000


APP = """
async def app(scope, receive, send):
    assert scope["type"] == "http"
    await send({"type": "http.response.start", "status": 200 if scope["path"] == "/readyz" else 404})
    await send({"type": "http.response.body", "body": b"yes"})
"""


def test_the_log_of_a_child_that_runs_well_is_put_aside_too(
    home: Path, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    """A platform without restarts must not fill the disk."""
    monkeypatch.setattr(processes_module, "_LOG_BYTES_MAX", 10_000)
    talk = "import time\nwhile True: print('x' * 99, flush=True); time.sleep(0.001)"
    with Supervisor(home) as supervisor:
        supervisor.start(Command(name="talker", argv=[sys.executable, "-c", talk], env={}))
        log, aside = home / "talker.log", home / "talker.log.1"

        def rotated() -> bool:
            supervisor.tend()
            return aside.exists()

        eventually(rotated)
        pid = supervisor.pids()["talker"]
        aside.unlink()
        eventually(rotated)
        assert supervisor.pids()["talker"] == pid, "it was not restarted for that"
        assert b"\0" not in log.read_bytes(), "it goes on at the beginning of the file"


def test_uvicorn_on_an_inherited_socket_is_restarted_behind_the_same_port(home: Path) -> None:
    (home / "app.py").write_text(APP)
    with listen() as listening, Supervisor(home / "logs") as supervisor:
        host, port = listening.getsockname()
        fd = listening.fileno()
        supervisor.start(
            Command(
                name="api",
                argv=[
                    sys.executable,
                    "-m",
                    "uvicorn",
                    "--app-dir",
                    str(home),
                    "--fd",
                    str(fd),
                    "--lifespan=off",
                    "app:app",
                ],
                env=ENV,
                pass_fds=[fd],
                ready=HttpReady(host, port),
            )
        )
        api = supervisor._children[0]
        os.kill(api.process.pid, signal.SIGKILL)
        while api.process.exit_status() is None:
            pass
        connection = HTTPConnection(host, port, timeout=60)
        connection.request("GET", "/readyz")  # no answer yet, and no refusal
        while api.restart_at is not None or api.process.exit_status() is not None:
            supervisor.tend()
        assert connection.getresponse().read() == b"yes"
        connection.close()
    with socket.socket() as closed:
        assert closed.connect_ex((host, port)) != 0


def test_without_database_url_a_server_is_started_and_supervised(
    home: Path, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "")
    monkeypatch.setenv("PLIMSOLL_STATE_DIR", str(home))
    with Supervisor(home / "logs") as supervisor:
        url = provide_database(StandaloneSettings(), supervisor)
        data = home / "postgres" / "data"
        killed = live_postmaster(data)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE notes ()")
        os.kill(killed, signal.SIGKILL)

        def back() -> bool:
            supervisor.tend()
            try:
                with psycopg.connect(url) as connection:
                    return connection.execute("SELECT count(*) FROM notes").fetchone() == (0,)
            except psycopg.OperationalError:
                return False

        eventually(back)
        assert live_postmaster(data) != killed
    assert live_postmaster(data) is None


def test_database_url_wins(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://somewhere/else")
    monkeypatch.setenv("PLIMSOLL_STATE_DIR", str(home))
    with Supervisor(home / "logs") as supervisor:
        assert provide_database(StandaloneSettings(), supervisor) == "postgresql://somewhere/else"
    assert list(home.iterdir()) == []


def test_the_state_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PLIMSOLL_STATE_DIR", "XDG_STATE_HOME", "DATABASE_URL"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert StandaloneSettings().state_dir == Path("/home/somebody/.local/state/plimsoll")
    assert StandaloneSettings().database_url is None
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert StandaloneSettings().state_dir == Path("/state/plimsoll")
    monkeypatch.setenv("PLIMSOLL_STATE_DIR", "here")
    assert StandaloneSettings().state_dir == Path("here").absolute()
