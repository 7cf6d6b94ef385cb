"""A standby that takes over has all that the primary acknowledged, and clients find it by themselves."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import sqlalchemy as sa

from libs.store.platform.database import Database
from libs.store.platform.errors import UNAVAILABLE
from soak.servers import Servers, both

pytestmark = pytest.mark.soak


@pytest.fixture
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Return running servers. Their folder has a short path, because sockets are in it."""
    folder: Path = tmp_path_factory.mktemp("pg")
    (folder / "state").mkdir()
    with Servers(folder / "state", folder, folder / "logs") as servers:
        yield servers


class Writers:
    """Threads that insert numbers through the URL of both servers, and remember those that were acknowledged."""

    def __init__(self, url: str, number: int) -> None:
        self.database, self.over = Database(url, pool_size=number), threading.Event()
        self.acknowledged: list[int] = []
        with self.database.write() as tx:
            tx.execute(sa.text("CREATE TABLE numbers (n int PRIMARY KEY)"))
        self.threads = [threading.Thread(target=self._write, args=(i, number)) for i in range(number)]
        for thread in self.threads:
            thread.start()

    def _write(self, first: int, step: int) -> None:
        at = first
        while not self.over.is_set():
            try:
                with self.database.write() as tx:
                    tx.execute(sa.text("INSERT INTO numbers VALUES (:n)"), {"n": at})
            except UNAVAILABLE:
                time.sleep(0.05)
            else:
                self.acknowledged.append(at)
            at += step  # also after an unknown outcome: a number is tried once

    def end(self) -> set[int]:
        """End the threads, and return the numbers that the database has."""
        self.over.set()
        for thread in self.threads:
            thread.join()
        with self.database.snapshot() as tx:
            found = set(tx.execute(sa.text("SELECT n FROM numbers")).scalars())
        self.database.close()
        return found


def until(condition: Callable[[], object], servers: Servers) -> None:
    deadline = time.monotonic() + 240.0
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        servers.tend()
        time.sleep(0.02)


@pytest.mark.timeout(900)
def test_nothing_that_was_acknowledged_is_lost_with_the_primary(servers: Servers) -> None:
    writers = Writers(both(servers.urls), 4)
    until(lambda: len(writers.acknowledged) > 50, servers)
    primary = servers.pid
    assert primary is not None
    until(servers.fail_over, servers)
    before = len(writers.acknowledged)
    until(lambda: len(writers.acknowledged) > before + 50, servers)
    assert set(writers.acknowledged) <= writers.end()
    assert servers.pid not in (primary, None)
    assert psutil.Process(primary).status() == psutil.STATUS_ZOMBIE, "the lost primary must never come back"
    assert servers.fail_over() is None, "there is no standby any more"


@pytest.mark.timeout(900)
def test_a_standby_that_is_behind_is_not_promoted_and_holds_commits(servers: Servers) -> None:
    """A commit waits for the standby, even while that stands still."""
    assert servers._standby is not None
    standby, done = psutil.Process(servers._standby.pid), threading.Event()
    processes = [standby, *standby.children()]
    database = Database(servers.urls[0], pool_size=1)

    def write() -> None:
        with database.write() as tx:
            tx.execute(sa.text("CREATE TABLE waits (n int)"))
        done.set()

    thread = threading.Thread(target=write)
    for one in processes:
        one.suspend()
    try:
        thread.start()
        until(lambda: not servers.is_in_sync(), servers)
        assert servers.fail_over() is None
        assert not done.is_set()
    finally:
        for one in processes:
            one.resume()
    thread.join()
    assert done.is_set()
    database.close()
