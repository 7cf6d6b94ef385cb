"""Planning inputs, in append-only versions. The content is canonical Parquet, which the store does not read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.domain.page import Page
from libs.domain.planning_input import InputVersion
from libs.reconcile.errors import StaleGeneration
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound
from libs.store.tables import planning_input_versions

NOUN = "planning input"
_T = planning_input_versions.c
_COLUMNS = tuple(_T[name] for name in InputVersion.__dataclass_fields__)


def load_current(tx: Transaction, name: str) -> tuple[InputVersion, bytes] | None:
    """Return the latest version of an input and its content; None if there is none."""
    query = sa.select(*_COLUMNS, _T.content).where(_T.name == name).order_by(_T.version.desc()).limit(1)
    row = tx.execute(query).mappings().one_or_none()
    return None if row is None else (_version(row), bytes(row["content"]))


def load_version(tx: Transaction, name: str, version: int) -> tuple[InputVersion, bytes]:
    """Return one version and its content. Raises NotFound."""
    query = sa.select(*_COLUMNS, _T.content).where(_T.name == name, _T.version == version)
    row = tx.execute(query).mappings().one_or_none()
    if row is None:
        raise NotFound(f"version of {NOUN} {name}", version)
    return _version(row), bytes(row["content"])


def load_all_current(tx: Transaction) -> Mapping[str, tuple[InputVersion, bytes]]:
    """Return name -> the latest version of the input and its content."""
    query = sa.select(*_COLUMNS, _T.content).distinct(_T.name).order_by(_T.name, _T.version.desc())
    return {row["name"]: (_version(row), bytes(row["content"])) for row in tx.execute(query).mappings()}


def list_current(tx: Transaction) -> tuple[InputVersion, ...]:
    """Return the latest version of every input, without content, by name."""
    query = sa.select(*_COLUMNS).distinct(_T.name).order_by(_T.name, _T.version.desc())
    return tuple(_version(row) for row in tx.execute(query).mappings())


def list_versions(tx: Transaction, name: str, *, before: int | None, limit: int) -> Page[InputVersion]:
    """Return a page of versions of an input, latest first. `before` is the last version of the page before."""
    query = sa.select(*_COLUMNS).where(_T.name == name).order_by(_T.version.desc()).limit(limit + 1)
    if before is not None:
        query = query.where(_T.version < before)
    found = [_version(row) for row in tx.execute(query).mappings()]
    return Page.of(found, limit, lambda version: version.version)


def append_version(
    tx: Transaction,
    name: str,
    content: bytes,
    *,
    rows: int,
    generation: int,
    comment: str | None,
    created_by: str,
    now: datetime,
) -> InputVersion:
    """Append a version after `generation`, the latest that the writer has read (0: none). Raises StaleGeneration."""
    values = {
        "name": name,
        "version": generation + 1,
        "rows": rows,
        "content": content,
        "comment": comment,
        "created_by": created_by,
        "created_at": now,
    }
    latest = sa.select(sa.func.coalesce(sa.func.max(_T.version), 0)).where(_T.name == name)
    found = int(tx.execute(latest).scalar_one())
    row = None
    if found == generation:
        statement = insert(planning_input_versions).values(values).on_conflict_do_nothing().returning(*_COLUMNS)
        row = tx.execute(statement).mappings().one_or_none()
    if row is None:  # another writer's version: read just now, or found by the unique key only
        raise StaleGeneration(NOUN, name, expected=generation, found=int(tx.execute(latest).scalar_one()))
    return _version(row)


def _version(row: sa.RowMapping) -> InputVersion:
    return InputVersion(**{name: row[name] for name in InputVersion.__dataclass_fields__})
