"""API tokens. Only the SHA-256 of a secret is stored."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Mapping
from datetime import datetime

import sqlalchemy as sa

from libs.domain.page import Page
from libs.domain.principal import Principal, Role, Token
from libs.reconcile.errors import StaleGeneration
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound
from libs.store.tables import tokens


def create_token(
    tx: Transaction,
    *,
    name: str,
    role: Role,
    secret_sha256: bytes,
    now: datetime,
    owners: Collection[str] = (),
    person: str | None = None,
) -> Token | None:
    """Create a token. Return None if the name is taken, also by a revoked token, because audit entries use names."""
    values = {
        "name": name,
        "role": role,
        "owners": sorted(set(owners)),
        "secret_sha256": secret_sha256,
        "created_at": now,
        "person": person,
    }
    statement = sa.dialects.postgresql.insert(tokens).values(values).on_conflict_do_nothing(index_elements=["name"])
    row = tx.execute(statement.returning(*_COLUMNS)).mappings().one_or_none()
    return None if row is None else _token(row)


def load_principal(tx: Transaction, secret_sha256: bytes) -> Principal | None:
    """Return the holder of the token whose secret has the digest `secret_sha256`. Return None if the secret is unknown,
    revoked or expired after a rotation.
    """
    is_it = sa.or_(
        tokens.c.secret_sha256 == secret_sha256,
        sa.and_(tokens.c.previous_sha256 == secret_sha256, tokens.c.previous_until > sa.func.now()),
    )
    row = tx.execute(sa.select(tokens).where(is_it, tokens.c.revoked_at.is_(None))).mappings().one_or_none()
    # Timing of the index lookup reveals nothing, because it compares digests. This comparison takes constant time.
    if row is None or not any(
        hmac.compare_digest(bytes(row[column] or b""), secret_sha256) for column in ("secret_sha256", "previous_sha256")
    ):
        return None
    return Principal(
        token_id=row["token_id"],
        name=row["name"],
        person=row["person"] or row["name"],
        role=Role(row["role"]),
        owners=frozenset(row["owners"]),
    )


def load_persons(tx: Transaction, actors: Collection[str]) -> frozenset[str]:
    """Return the persons behind these actors, as load_person_of has them."""
    return frozenset(load_person_of(tx, actors).values())


def load_person_of(tx: Transaction, actors: Collection[str]) -> dict[str, str]:
    """Return actor -> the person behind it: that of a token which belongs to a person, else the actor itself."""
    query = sa.select(tokens.c.name, tokens.c.person).where(
        tokens.c.name.in_(set(actors)), tokens.c.person.is_not(None)
    )
    of_token = {row.name: row.person for row in tx.execute(query)}
    return {actor: of_token.get(actor, actor) for actor in actors}


def load_token(tx: Transaction, token_id: int) -> Token:
    """Return one token, revoked or not. Raises NotFound."""
    row = tx.execute(sa.select(*_COLUMNS).where(tokens.c.token_id == token_id)).mappings().one_or_none()
    if row is None:
        raise NotFound("token", token_id)
    return _token(row)


def find_token(tx: Transaction, name: str) -> Token:
    """Return the token called `name`, revoked or not. Raises NotFound."""
    row = tx.execute(sa.select(*_COLUMNS).where(tokens.c.name == name)).mappings().one_or_none()
    if row is None:
        raise NotFound("token", name)
    return _token(row)


def list_tokens(
    tx: Transaction, *, after: int | None, limit: int, role: Role | None = None, revoked: bool | None = None
) -> Page[Token]:
    """Return a page of tokens by id; `after` is the id that the last page ended with.

    role, revoked   only tokens of this role, and only those that are or are not revoked
    """
    query = sa.select(*_COLUMNS).order_by(tokens.c.token_id).limit(limit + 1)
    if role is not None:
        query = query.where(tokens.c.role == role)
    if revoked is not None:
        query = query.where(tokens.c.revoked_at.is_not(None) if revoked else tokens.c.revoked_at.is_(None))
    if after is not None:
        query = query.where(tokens.c.token_id > after)
    found = [_token(row) for row in tx.execute(query).mappings()]
    return Page.of(found, limit, lambda token: token.token_id)


def lock_usable_admins(tx: Transaction) -> frozenset[int]:
    """Lock the admin tokens that are not revoked until the transaction ends, and return their ids."""
    query = sa.select(tokens.c.token_id).where(tokens.c.role == Role.ADMIN, tokens.c.revoked_at.is_(None))
    return frozenset(tx.execute(query.order_by(tokens.c.token_id).with_for_update()).scalars())


def revoke_token(tx: Transaction, token_id: int, *, now: datetime) -> bool:
    """Revoke a token. Return False if the token is unknown or revoked already."""
    statement = sa.update(tokens).where(tokens.c.token_id == token_id, tokens.c.revoked_at.is_(None))
    return tx.execute(statement.values(revoked_at=now)).rowcount == 1


def set_owners(tx: Transaction, token_id: int, owners: Collection[str], *, generation: int) -> Token:
    """Set the owners that a token may act for. Raises NotFound, StaleGeneration."""
    return _change(tx, token_id, generation, {"owners": sorted(set(owners))})


def set_person(tx: Transaction, token_id: int, person: str | None, *, generation: int) -> Token:
    """Set the person to whom a token belongs; None: it stands for itself. Raises NotFound, StaleGeneration."""
    return _change(tx, token_id, generation, {"person": person})


def rotate_token(tx: Transaction, token_id: int, *, secret_sha256: bytes, grace_s: float, generation: int) -> Token:
    """Give a token another secret. The present secret stays valid for `grace_s` seconds. An older secret that was still
    valid becomes invalid. Sessions from before the end of a secret end with it.

    The time counts by the database's clock, which does not go back, so an expired secret stays invalid. Raises
    NotFound, StaleGeneration.
    """
    values = {
        "previous_sha256": tokens.c.secret_sha256,
        "previous_until": sa.func.clock_timestamp() + sa.func.make_interval(0, 0, 0, 0, 0, 0, grace_s),
        "secret_sha256": secret_sha256,
    }
    return _change(tx, token_id, generation, values)


_COLUMNS = tuple(tokens.c[name] for name in Token.__dataclass_fields__)


def _change(tx: Transaction, token_id: int, generation: int, values: Mapping[str, object]) -> Token:
    key = tokens.c.token_id == token_id
    update = sa.update(tokens).where(key, tokens.c.generation == generation).values(values)
    if tx.execute(update).rowcount == 0:
        raise StaleGeneration("token", token_id, expected=generation, found=load_token(tx, token_id).generation)
    return load_token(tx, token_id)


def _token(row: sa.RowMapping) -> Token:
    return Token(**{**row, "role": Role(row["role"]), "owners": tuple(row["owners"])})
