"""API tokens: who may ask for what. Only the SHA-256 of a secret is kept."""

from __future__ import annotations

import hmac
from datetime import datetime

import sqlalchemy as sa

from libs.domain.page import Page
from libs.domain.principal import Principal, Role, Token
from libs.store.database import Transaction
from libs.store.tables import tokens


def create_token(tx: Transaction, *, name: str, role: Role, secret_sha256: bytes, now: datetime) -> Token | None:
    """A new token; None where the name is taken, also by a revoked one: the trail of who did what names it."""
    values = {"name": name, "role": role, "secret_sha256": secret_sha256, "created_at": now}
    statement = sa.dialects.postgresql.insert(tokens).values(values).on_conflict_do_nothing(index_elements=["name"])
    row = tx.execute(statement.returning(*_COLUMNS)).mappings().one_or_none()
    return None if row is None else _token(row)


def load_principal(tx: Transaction, secret_sha256: bytes) -> Principal | None:
    """The holder of the token with this digest; None where there is none or it is revoked."""
    query = sa.select(tokens).where(tokens.c.secret_sha256 == secret_sha256, tokens.c.revoked_at.is_(None))
    row = tx.execute(query).mappings().one_or_none()
    # The index found it by a digest, which tells a listener nothing; this makes the equality itself constant in time.
    if row is None or not hmac.compare_digest(bytes(row["secret_sha256"]), secret_sha256):
        return None
    return Principal(token_id=row["token_id"], name=row["name"], role=Role(row["role"]))


def load_token(tx: Transaction, token_id: int) -> Token | None:
    """One token, revoked or not."""
    row = tx.execute(sa.select(*_COLUMNS).where(tokens.c.token_id == token_id)).mappings().one_or_none()
    return None if row is None else _token(row)


def list_tokens(tx: Transaction, *, after: int | None, limit: int) -> Page[Token]:
    """In the order they were made; `after` is the id that the last page ended with."""
    query = sa.select(*_COLUMNS).order_by(tokens.c.token_id).limit(limit + 1)
    if after is not None:
        query = query.where(tokens.c.token_id > after)
    found = [_token(row) for row in tx.execute(query).mappings()]
    return Page(tuple(found[:limit]), found[limit - 1].token_id if len(found) > limit else None)


def revoke_token(tx: Transaction, token_id: int, *, now: datetime) -> bool:
    """From now on the token opens nothing. False where there is none, or it was revoked already."""
    statement = sa.update(tokens).where(tokens.c.token_id == token_id, tokens.c.revoked_at.is_(None))
    return tx.execute(statement.values(revoked_at=now)).rowcount == 1


_COLUMNS = (tokens.c.token_id, tokens.c.name, tokens.c.role, tokens.c.created_at, tokens.c.revoked_at)


def _token(row: sa.RowMapping) -> Token:
    return Token(**{**row, "role": Role(row["role"])})
