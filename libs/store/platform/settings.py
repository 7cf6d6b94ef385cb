"""Settings of the connection to the database."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr

from libs.reconcile.environment import Settings


def _of_postgresql(url: SecretStr) -> SecretStr:
    """Return the URL if SQLAlchemy and psycopg both accept it. Hide their own errors, which may contain the
    password.
    """
    import psycopg  # here: a command that only needs the platform's address must not wait for the database driver
    import sqlalchemy as sa
    from psycopg.conninfo import conninfo_to_dict

    try:
        scheme = sa.make_url(url.get_secret_value()).drivername
        ports = str(conninfo_to_dict(url.get_secret_value()).get("port", "")).split(",")
    except (ValueError, sa.exc.ArgumentError, psycopg.Error):
        scheme, ports = "", []
    if scheme not in ("postgresql", "postgres") or not all(port == "" or port.isdigit() for port in ports):
        expected = "postgresql://user:password@host:port/name, with special characters in the password percent-encoded"
        raise ValueError(f"expected {expected}")
    return url


DatabaseUrl = Annotated[SecretStr, AfterValidator(_of_postgresql)]


class StoreSettings(Settings):
    """Settings of the store. DATABASE_URL has the form of PostgreSQL's own tools:
    postgresql://user:password@host:port/name.
    """

    database_url: DatabaseUrl = Field(validation_alias="DATABASE_URL")
    database_pool_size: int = Field(default=10, ge=1, le=100, validation_alias="PLIMSOLL_DATABASE_POOL_SIZE")
