"""Run two writers at once, each with a connection of its own."""

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
    """Run each write in a transaction of its own, all begun together. Return each result, or the exception raised."""
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
    """Return the result of `read` in another thread, because a thread with a transaction may not begin a second one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(read).result()


def meanwhile(database: Database, first: Write, second: Write) -> tuple[object, object]:
    """Begin `second` after `first` has written and before it commits, so that it waits wherever they meet.

    Return the second's result or exception, and the first's result.
    """
    with ThreadPoolExecutor(1) as pool:
        with database.write() as tx:
            done = first(tx)
            waiting = pool.submit(lambda: race(database, second)[0])
            wait_for_a_lock(database, waiting.done)
        return waiting.result(), done


def wait_for_a_lock(database: Database, is_done: Callable[[], bool]) -> None:
    """Wait until a transaction waits for a lock, or until the one that might is done."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

    def waiting() -> int:
        with database.write() as tx:
            return int(tx.execute(sa.text(query)).scalar_one())

    while not is_done() and not elsewhere(waiting):
        pass
