"""Wait for a NOTIFY of PostgreSQL. A notification only wakes a loop earlier, so a lost notification does no harm."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from psycopg import sql

from libs.store.platform.connection import PARAMETERS, BoundedConnection


class Wakeups:
    """A connection that listens on one channel. Use it as a context manager. Raises the errors of psycopg."""

    def __init__(self, database_url: str, channel: str) -> None:
        self._connection = BoundedConnection.connect(database_url, autocommit=True, **PARAMETERS)
        self._connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._connection.close()

    def wait(self, timeout_s: float) -> bool:
        """Return True as soon as a notification has arrived since the last call; False after `timeout_s` seconds
        without one.
        """
        return any(True for _ in self._connection.notifies(timeout=timeout_s, stop_after=1))
