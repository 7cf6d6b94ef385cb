"""What the database may say that is nobody's mistake."""

from __future__ import annotations

import psycopg
from sqlalchemy.exc import InterfaceError, OperationalError, TimeoutError

from libs.observability.logs import redact

UNAVAILABLE: tuple[type[Exception], ...] = (
    OperationalError,
    InterfaceError,
    TimeoutError,
    psycopg.OperationalError,
    psycopg.InterfaceError,
)
"""The database cannot be reached, its disk is full, a lock was waited for too long, or the pool is exhausted.

Trying again may help. psycopg's own are raised by what goes past SQLAlchemy, such as COPY.
"""


def told(error: str | None) -> str | None:
    """What a row keeps of an error: every viewer may read it, so it holds no secret."""
    return None if error is None else str(redact(error))
