"""Two writers at once, each with a connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import sqlalchemy as sa

from libs.store.platform.database import Database, Transaction

T = TypeVar("T")
Write = Callable[[Transaction], object]


def race(database: Database, *writes: Write) -> list[object]:
    """Run each in a transaction of its own, begun together; what each returned, or the exception that it raised."""
    begin = threading.Barrier(len(writes))

    def run(write: Write) -> object:
        try:
            with database.write() as tx:
                begin.wait()
                return write(tx)
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(writes)) as pool:
        return list(pool.map(run, writes))


def elsewhere(read: Callable[[], T]) -> T:
    """What `read` returns in another thread: one that has a transaction open may not begin a second."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(read).result()


def meanwhile(database: Database, first: Write, second: Write) -> tuple[object, object]:
    """`second` begins while `first` has written and not committed, and has to wait for it where they meet.

    Returns what the second returned or raised, and what the first returned.
    """
    with ThreadPoolExecutor(1) as pool:
        with database.write() as tx:
            done = first(tx)
            waiting = pool.submit(lambda: race(database, second)[0])
            wait_for_a_lock(database, waiting.done)
        return waiting.result(), done


def wait_for_a_lock(database: Database, is_done: Callable[[], bool]) -> None:
    """Until some transaction waits for a lock, or the one that might is done."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

    def waiting() -> int:
        with database.write() as tx:
            return int(tx.execute(sa.text(query)).scalar_one())

    while not is_done() and not elsewhere(waiting):
        pass
