"""Connections and transactions. Everything else in the store is functions that take a Transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

import psycopg
import sqlalchemy as sa

from libs.store.settings import StoreSettings

Transaction: TypeAlias = sa.Connection
"""An open transaction. Services pass it on and never look inside."""


class Database:
    """A pool of connections to one PostgreSQL."""

    def __init__(self, url: str, *, pool_size: int = 10) -> None:
        if not url.startswith(("postgresql://", "postgres://")):
            raise ValueError("DATABASE_URL must begin with postgresql://")
        self._engine = sa.create_engine(
            "postgresql+psycopg://" + url.split("://", 1)[1],
            pool_size=pool_size,
            max_overflow=0,
            pool_pre_ping=True,
            # A process that was stopped in the middle of a transaction must not hold its locks for ever.
            connect_args={"options": "-c timezone=UTC -c lock_timeout=30s -c idle_in_transaction_session_timeout=5min"},
            hide_parameters=True,  # errors are logged; what was bound in a statement is not for logs
        )

    @classmethod
    def from_settings(cls, settings: StoreSettings) -> Database:
        """The database that the environment names."""
        return cls(settings.database_url.get_secret_value(), pool_size=settings.database_pool_size)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """A READ COMMITTED transaction: committed at the end, rolled back on any exception."""
        with self._engine.begin() as transaction:
            yield transaction

    @contextmanager
    def snapshot(self) -> Iterator[Transaction]:
        """A read-only REPEATABLE READ transaction: every query in it sees the same moment."""
        with self._engine.connect() as connection:
            transaction = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with transaction.begin():
                yield transaction

    def pool_use(self) -> tuple[int, int]:
        """Connections that are in use, and how many may be."""
        pool = self._engine.pool
        assert isinstance(pool, sa.QueuePool)
        return pool.checkedout(), pool.size()

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()


def raw(transaction: Transaction) -> psycopg.Connection[tuple[object, ...]]:
    """The psycopg connection under a transaction, for COPY."""
    connection = transaction.connection.driver_connection
    assert isinstance(connection, psycopg.Connection)
    return connection
