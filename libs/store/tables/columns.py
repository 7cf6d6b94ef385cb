"""Kinds of columns."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def key(name: str) -> sa.Column[int]:
    """Return the id column of a table."""
    return sa.Column(name, sa.BigInteger, sa.Identity(always=True), primary_key=True)


def ref(column: str, *, nullable: bool = False) -> sa.Column[int]:
    """Return a foreign key to `table.column`, under the same name."""
    return sa.Column(column.split(".")[1], sa.BigInteger, sa.ForeignKey(column), nullable=nullable)


def text(name: str, *, nullable: bool = False, default: str | None = None) -> sa.Column[str]:
    """Return a text column."""
    return sa.Column(name, sa.Text, nullable=nullable, server_default=default)


def at(name: str, *, nullable: bool = False) -> sa.Column[datetime]:
    """Return a timestamp column."""
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def json(name: str, *, nullable: bool = False) -> sa.Column[object]:
    """Return a JSON column. If it is nullable, None is stored as NULL, because operators fail on the document
    `null`.
    """
    return sa.Column(name, JSONB(none_as_null=nullable), nullable=nullable)


def generation() -> sa.Column[int]:
    """Return the column for compare-and-swap. A trigger raises the number on every update of the row."""
    return sa.Column("generation", sa.BigInteger, nullable=False, server_default=sa.text("1"))


def revision(name: str) -> sa.Column[int]:
    """Return a column of revisions of places, which the sequence `place_revisions` counts. 0: of before the first."""
    return sa.Column(name, sa.BigInteger, nullable=False, server_default=sa.text("0"))


def one_of(column: str, *values: str) -> sa.CheckConstraint:
    """Return a check that the column has one of these values."""
    listed = ", ".join(f"'{v}'" for v in values)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=column)
