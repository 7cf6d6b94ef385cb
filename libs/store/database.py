"""Connections and transactions. Everything else in the store is functions that take a Transaction."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import psycopg
import sqlalchemy as sa

from libs.store.connection import PARAMETERS, BoundedConnection
from libs.store.settings import StoreSettings

Transaction: TypeAlias = sa.Connection
"""An open transaction. Services pass it on and never look inside."""

_NO_POOL: dict[str, Any] = {"poolclass": sa.NullPool}


class Locked(Exception):
    """Another transaction holds what this one wants, and went on doing so for longer than it would wait."""


class Database:
    """A pool of connections to one PostgreSQL.

    A thread holds one connection of it at a time. One that waited for a second while it holds a first would, together
    with as many others as the pool has connections, wait for ever.
    """

    def __init__(self, url: str, *, pool_size: int = 10) -> None:
        if not url.startswith(("postgresql://", "postgres://")):
            raise ValueError("DATABASE_URL must begin with postgresql://")
        self._url = url
        # Of no connections: each transaction opens one of its own.
        pool = {"pool_size": pool_size, "max_overflow": 0, "pool_pre_ping": True} if pool_size else _NO_POOL
        self._engine = sa.create_engine(
            "postgresql+psycopg://" + url.split("://", 1)[1],
            **pool,
            connect_args=PARAMETERS,
            hide_parameters=True,  # errors are logged; what was bound in a statement is not for logs
        )
        sa.event.listen(self._engine, "do_connect", _connect)
        self._held = threading.local()

    @classmethod
    def from_settings(cls, settings: StoreSettings) -> Database:
        """The database that the environment names."""
        return cls(settings.database_url.get_secret_value(), pool_size=settings.database_pool_size)

    def unpooled(self) -> Database:
        """The same database, with a new connection for each transaction: it waits for none that others hold."""
        return Database(self._url, pool_size=0)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """A READ COMMITTED transaction: committed at the end, rolled back on any exception.

        Raises RuntimeError where this thread has a transaction open.
        """
        with self._only_one(), self._engine.begin() as transaction:
            yield transaction

    @contextmanager
    def snapshot(self) -> Iterator[Transaction]:
        """A read-only REPEATABLE READ transaction: every query in it sees the same moment.

        Raises RuntimeError where this thread has a transaction open.
        """
        with self._only_one(), self._engine.connect() as connection:
            transaction = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with transaction.begin():
                yield transaction

    @contextmanager
    def _only_one(self) -> Iterator[None]:
        if getattr(self._held, "one", False):
            raise RuntimeError("this thread has a transaction open: pass that on, or end it before the next begins")
        self._held.one = True
        try:
            yield
        finally:
            self._held.one = False

    def pool_use(self) -> tuple[int, int]:
        """Connections that are in use, and how many may be."""
        pool = self._engine.pool
        assert isinstance(pool, sa.QueuePool)
        return pool.checkedout(), pool.size()

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()


@contextmanager
def briefly(tx: Transaction, wait_s: float) -> Iterator[None]:
    """A savepoint; from here on the transaction waits for a lock no longer than this. Raises Locked, and undoes it."""
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
    """The psycopg connection under a transaction, for COPY."""
    connection = transaction.connection.driver_connection
    assert isinstance(connection, psycopg.Connection)
    return connection
