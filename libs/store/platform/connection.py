"""How to open connections. Every operation is bounded, even if the server stops answering."""

from __future__ import annotations

from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.abc import PQGen

T = TypeVar("T")

STATEMENT_S_MAX = 300.0
"""Seconds after which the server ends a statement. Our statements take at most a tenth of it."""
SILENCE_S_MAX = STATEMENT_S_MAX + 15.0
"""Seconds of silence after which the client closes the connection: the server has failed to end the statement."""
_PEER_LOST_S = 15

PARAMETERS: dict[str, Any] = {
    # The kernel ends a connection whose peer no longer acknowledges anything; on a Unix socket these do nothing.
    "connect_timeout": 5,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": _PEER_LOST_S * 1000,
    # A process that was stopped in the middle of a transaction must not hold its locks for long.
    "options": "-c timezone=UTC -c lock_timeout=30s -c idle_in_transaction_session_timeout=30s"
    f" -c statement_timeout={STATEMENT_S_MAX:.0f}s",
}


class BoundedConnection(psycopg.Connection[tuple[object, ...]]):
    """A connection on which no operation waits longer than `silence_s_max`.

    A proxy or a firewall may acknowledge packets and then drop them, which the kernel cannot notice.
    """

    silence_s_max = SILENCE_S_MAX

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Wait as psycopg does. Raises OperationalError, and closes the connection, after the bound."""
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, self.silence_s_max)
        except errors._WaitTimeout as silent:
            self.pgconn.finish()
            said = f"the database sent nothing for {self.silence_s_max:g} s, so the connection was closed"
            raise psycopg.OperationalError(said) from silent
