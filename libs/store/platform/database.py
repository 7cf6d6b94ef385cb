"""Connections and transactions. All other functions of the store take a Transaction."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import psycopg
import sqlalchemy as sa

from libs.store.platform.connection import PARAMETERS, BoundedConnection
from libs.store.platform.settings import StoreSettings

Transaction: TypeAlias = sa.Connection
"""An open transaction. Services pass it on and do not use it themselves."""

_NO_POOL: dict[str, Any] = {"poolclass": sa.NullPool}


class Locked(Exception):
    """Another transaction held a needed lock for longer than the time to wait."""


class Database:
    """A pool of connections to one PostgreSQL.

    A thread holds at most one connection. If each thread held one and waited for a second, a full pool would deadlock.
    """

    def __init__(self, url: str, *, pool_size: int = 10) -> None:
        if not url.startswith(("postgresql://", "postgres://")):
            raise ValueError("DATABASE_URL must begin with postgresql://")
        self._url = url
        # Without a pool, each transaction opens its own connection.
        pool = {"pool_size": pool_size, "max_overflow": 0, "pool_pre_ping": True} if pool_size else _NO_POOL
        self._engine = sa.create_engine(
            "postgresql+psycopg://" + url.split("://", 1)[1],
            **pool,
            connect_args=PARAMETERS,
            hide_parameters=True,  # errors are logged, and bound values may be secret
        )
        sa.event.listen(self._engine, "do_connect", _connect)
        self._held = threading.local()

    @classmethod
    def from_settings(cls, settings: StoreSettings) -> Database:
        """Return the database that the environment names."""
        return cls(settings.database_url.get_secret_value(), pool_size=settings.database_pool_size)

    def unpooled(self) -> Database:
        """Return the same database with a new connection for each transaction, so that it never waits for the pool."""
        return Database(self._url, pool_size=0)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Open a READ COMMITTED transaction: committed at the end, rolled back on any exception.

        Raises RuntimeError if this thread has a transaction open.
        """
        with self._only_one(), self._engine.begin() as transaction:
            yield transaction

    @contextmanager
    def snapshot(self) -> Iterator[Transaction]:
        """Open a read-only REPEATABLE READ transaction: all queries in it see the same moment.

        Raises RuntimeError if this thread has a transaction open.
        """
        with self._only_one(), self._engine.connect() as connection:
            transaction = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with transaction.begin():
                yield transaction

    @contextmanager
    def _only_one(self) -> Iterator[None]:
        if getattr(self._held, "one", False):
            raise RuntimeError("this thread has a transaction open: use that one, or end it first")
        self._held.one = True
        try:
            yield
        finally:
            self._held.one = False

    def pool_use(self) -> tuple[int, int]:
        """Return the number of connections in use, and the size of the pool."""
        pool = self._engine.pool
        assert isinstance(pool, sa.QueuePool)
        return pool.checkedout(), pool.size()

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()


@contextmanager
def briefly(tx: Transaction, wait_s: float) -> Iterator[None]:
    """Open a savepoint. Inside it, a statement waits at most `wait_s` for a lock. On a timeout, roll back to the
    savepoint and raise Locked.
    """
    try:
        with tx.begin_nested():
            tx.execute(sa.text(f"SET LOCAL lock_timeout = {round(wait_s * 1000)}"))
            yield
    except sa.exc.OperationalError as error:
        if isinstance(error.orig, psycopg.errors.LockNotAvailable):
            raise Locked from error
        raise


def _connect(
    dialect: sa.Dialect, record: object, arguments: list[Any], parameters: dict[str, Any]
) -> BoundedConnection:
    return BoundedConnection.connect(*arguments, **parameters)


def raw(transaction: Transaction) -> psycopg.Connection[tuple[object, ...]]:
    """Return the psycopg connection of a transaction, for COPY."""
    connection = transaction.connection.driver_connection
    assert isinstance(connection, psycopg.Connection)
    return connection
