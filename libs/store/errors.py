"""What the database may say that is nobody's mistake."""

from __future__ import annotations

from sqlalchemy.exc import InterfaceError, OperationalError, TimeoutError

UNAVAILABLE: tuple[type[Exception], ...] = (OperationalError, InterfaceError, TimeoutError)
"""The database cannot be reached, a lock was waited for too long, or the pool is exhausted: trying again may help."""
