"""Errors of the database that no caller has caused, such as a lost connection."""

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
"""The database is unreachable, its disk is full, a lock timed out, or the pool is exhausted.

A retry may help. Code that bypasses SQLAlchemy, such as COPY, raises psycopg's own errors.
"""


def told(error: str | None) -> str | None:
    """Return the text of an error without secrets. The text is stored, and every viewer may read it."""
    return None if error is None else str(redact(error))
