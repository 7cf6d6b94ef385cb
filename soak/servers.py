"""Two PostgreSQL servers: a primary, and a standby that takes over when the primary is lost.

The standby gets the log as a stream, and a commit waits for it. So nothing that was acknowledged is lost with the
primary. Clients name both servers, and libpq finds the one that takes writes.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, quote, urlsplit, urlunsplit

import psutil
import psycopg
import sqlalchemy as sa

from libs.store.platform.database import Database
from libs.store.platform.errors import UNAVAILABLE
from services.standalone.postgres import prepared_postgres
from services.standalone.postgres_cluster import ROLE, SERVER_ENV, find_binaries, give_to_server
from services.standalone.processes import Command, Process, always_ready

_SLOT = "standby"
_IN_SYNC = sa.text("""
    SELECT count(*) FROM pg_stat_replication
    WHERE state = 'streaming' AND sync_state IN ('sync', 'quorum') AND flush_lsn >= CAST(:lsn AS pg_lsn)""")
_LSN = sa.text("SELECT CAST(pg_current_wal_flush_lsn() AS text)")
_PROMPT = "wal_receiver_status_interval = 1s\nwal_retrieve_retry_interval = 500ms\n"
"""Settings of the standby: it tells soon how far it is, and connects again soon."""
_PATIENCE_S = 60.0
_RESTART_S = 0.2


class Servers:
    """A running primary with its standby. Use it in the main thread: it starts processes.

    state      folder of the primary, as `plimsoll up` has it
    elsewhere  folder of the standby: another disk than the primary's
    """

    def __init__(self, state: Path, elsewhere: Path, log_dir: Path) -> None:
        self._homes = (state / "postgres", elsewhere / "standby")
        self._log_dir = log_dir
        self._kept = ExitStack()
        self._primary: Process | None = None
        self._standby: Process | None = None
        self._died_s: dict[str, float] = {}
        self.urls: tuple[str, str] = ("", "")
        """Of the primary, and of the standby."""
        self.failed_over = False

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._kept.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._kept.close()

    @property
    def pid(self) -> int | None:
        """Process id of the server that takes writes; None while it is dead."""
        found = self._standby if self.failed_over else self._primary
        return None if found is None or found.exit_status() is not None else found.pid

    def tend(self) -> None:
        """Start a server again that died, unless the other has taken over. Never waits."""
        if not self.failed_over:
            self._primary = self._tended(self._primary)
        self._standby = self._tended(self._standby)

    def is_in_sync(self) -> bool:
        """Return whether the standby has all that the primary has acknowledged until now. Waits for it for a while."""
        database = Database(self.urls[0], pool_size=1)
        deadline = time.monotonic() + _PATIENCE_S / 10
        try:
            with database.snapshot() as tx:
                lsn = tx.execute(_LSN).scalar_one()
            while time.monotonic() < deadline:
                with database.snapshot() as tx:
                    if tx.execute(_IN_SYNC, {"lsn": lsn}).scalar_one():
                        return True
                time.sleep(0.05)
        except UNAVAILABLE:
            return False
        finally:
            database.close()
        return False

    def fail_over(self) -> str | None:
        """Lose the primary for good, and promote the standby. Return what happened; None if the standby is behind.

        An operator's tool does not promote a standby that is behind either.
        """
        if self.failed_over or self._primary is None or self._standby is None or not self.is_in_sync():
            return None
        lost = self._primary.pid
        _lose(lost)
        self.failed_over = True
        standby = self._homes[1] / "data"
        self._run(standby, "pg_ctl", "promote", "-D", str(standby), "--no-wait")
        return f"{lost} lost, {self._standby.pid} promoted"

    def _start(self) -> None:
        """Start the primary, copy it, start the copy as its standby, and let commits wait for it."""
        home, copy = self._homes
        primary = self._kept.enter_context(prepared_postgres(home))
        data = home / "data"
        hba = data / "pg_hba.conf"
        usual = f"{hba.read_text()}local replication {ROLE} scram-sha-256\n"
        hba.write_text(f"{usual}local all postgres trust\n")  # on a socket in a private folder
        self._primary = self._kept_running(primary.command)
        self._primary.wait_ready()
        with psycopg.connect(host=parse_qs(urlsplit(primary.url).query)["host"][0], user="postgres") as superuser:
            superuser.execute(f"ALTER ROLE {ROLE} REPLICATION")
            superuser.execute(f"GRANT pg_monitor TO {ROLE}")
        hba.write_text(usual)
        copy.mkdir(mode=0o700)
        if os.geteuid() == 0:
            give_to_server(copy, data.stat().st_uid)
        into = str(copy / "data")
        options = ("-R", "-X", "stream", "-C", "-S", _SLOT, "--checkpoint=fast", "-d", primary.url)
        self._run(data, "pg_basebackup", "-D", into, *options)
        for lock in Path(into).glob(".s.PGSQL.*.lock"):  # the primary's: its socket is in its data folder
            lock.unlink()
        shutil.copyfile(home / "password", copy / "password")
        with (copy / "data" / "postgresql.conf").open("a") as file:
            file.write(_PROMPT)
        standby = self._kept.enter_context(prepared_postgres(copy))
        self._standby = self._kept_running(replace(standby.command, name="standby", ready=always_ready))
        self.urls = primary.url, standby.url
        with (data / "postgresql.conf").open("a") as file:
            file.write("synchronous_standby_names = '*'\n")
        os.kill(self._primary.pid, signal.SIGHUP)
        deadline = time.monotonic() + _PATIENCE_S
        while not self.is_in_sync():
            if time.monotonic() > deadline:
                raise RuntimeError(f"the standby does not follow: see {self._log_dir / 'standby.log'}")

    def _kept_running(self, command: Command) -> Process:
        self._kept.callback(lambda: self._stop(command.name))
        return Process(command, self._log_dir)

    def _stop(self, name: str) -> None:
        process = self._primary if name == "postgres" else self._standby
        if process is not None:
            process.stop()

    def _tended(self, process: Process | None) -> Process | None:
        if process is None or process.exit_status() is None:
            return process
        name, now_s = process.command.name, time.monotonic()
        if now_s < self._died_s.setdefault(name, now_s) + _RESTART_S:
            return process
        del self._died_s[name]
        return Process(process.command, self._log_dir)

    def _run(self, data: Path, program: str, *arguments: str) -> None:
        """Run one of the server's programs as the user of a data folder. Raises RuntimeError with what it says."""
        argv = [str(find_binaries(data) / program), *arguments]
        command = Command(name=program, argv=argv, env=SERVER_ENV, run_as=data.stat().st_uid)
        done = subprocess.run(  # noqa: S603  # our own program
            command.wrapped_argv(), env=SERVER_ENV, cwd=data, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"{program} failed: {done.stdout}{done.stderr}")


def both(urls: tuple[str, str]) -> str:
    """Return the URL that names two servers on Unix sockets, and wants the one that takes writes."""
    parts = urlsplit(urls[0])
    hosts = ",".join(parse_qs(urlsplit(url).query)["host"][0] for url in urls)
    return urlunsplit(parts._replace(query=f"host={quote(hosts)}&target_session_attrs=read-write"))


def _lose(pid: int) -> None:
    """End a server at once with all its processes, as when its machine is lost."""
    with suppress(psutil.NoSuchProcess):
        server = psutil.Process(pid)
        server.suspend()  # so that it starts no more processes
        for child in server.children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                child.kill()
        server.kill()
