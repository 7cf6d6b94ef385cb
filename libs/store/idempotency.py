"""Idempotency keys: the claim of a key, the effect and the saved answer commit together or not at all.

Clients repeat themselves in real time: a key's age is measured by the database's own now(), never by the Clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.store.database import Transaction
from libs.store.tables import idempotency_keys


@dataclass(frozen=True, slots=True)
class SavedAnswer:
    """What the request that claimed the key was, and what it was told."""

    request_sha256: bytes
    status_code: int
    headers: Mapping[str, str]
    body: object


def claim_key(tx: Transaction, token_id: int, key: str, request_sha256: bytes) -> SavedAnswer | None:
    """None where the key is ours now: do the work and call save_answer in this same transaction.

    Otherwise the answer that was saved under it. A duplicate that arrives meanwhile waits here, on the primary key, for
    the first one to commit (and then gets its answer) or to roll back (and then does the work itself).
    """
    values = {"token_id": token_id, "key": key, "request_sha256": request_sha256, "created_at": sa.func.now()}
    unanswered = {"status_code": 0, "headers": {}, "body": None}
    claim = (
        insert(idempotency_keys).values(values | unanswered).on_conflict_do_nothing().returning(idempotency_keys.c.key)
    )
    while tx.execute(claim.returning(idempotency_keys.c.key)).first() is None:
        row = tx.execute(sa.select(idempotency_keys).where(_is(token_id, key))).one_or_none()
        if row is not None:  # None: it was forgotten between the two statements, and can be claimed again
            return SavedAnswer(bytes(row.request_sha256), row.status_code, row.headers, row.body)
    return None


def save_answer(
    tx: Transaction, token_id: int, key: str, *, status_code: int, headers: Mapping[str, str], body: object
) -> None:
    """Keep the answer under a key that this transaction has claimed."""
    values = {"status_code": status_code, "headers": dict(headers), "body": body}
    tx.execute(sa.update(idempotency_keys).where(_is(token_id, key)).values(values))


def forget_keys(tx: Transaction, *, older_than_s: float) -> int:
    """Forget the keys that were claimed so long ago; how many they were."""
    moment = sa.func.now() - sa.func.make_interval(0, 0, 0, 0, 0, 0, older_than_s)
    return tx.execute(sa.delete(idempotency_keys).where(idempotency_keys.c.created_at < moment)).rowcount


def _is(token_id: int, key: str) -> sa.ColumnElement[bool]:
    return sa.and_(idempotency_keys.c.token_id == token_id, idempotency_keys.c.key == key)
