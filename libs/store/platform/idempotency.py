"""Idempotency keys. The claim of a key, the effect and the saved answer commit together or not at all.

Clients retry in real time, so the age of a key counts by the database's now(), never by the Clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.store.platform.database import Transaction
from libs.store.tables import idempotency_keys

Holder = int | str
"""The id of a token, or a person who logged in: each has its own keys."""


@dataclass(frozen=True, slots=True)
class SavedAnswer:
    """The hash of the request that claimed a key, and the answer to this request."""

    request_sha256: bytes
    status_code: int
    headers: Mapping[str, str]
    body: object


def claim_key(tx: Transaction, holder: Holder, key: str, request_sha256: bytes) -> SavedAnswer | None:
    """Claim a key for a request. Return None if the key was free. The caller then does the work and calls save_answer
    in the same transaction.

    If an earlier request claimed the key, return the saved answer to that request. A concurrent duplicate waits here,
    on a unique constraint. When the first request commits, the duplicate gets its answer. When the first request rolls
    back, the duplicate does the work.
    """
    values = {_column(holder): holder, "key": key, "request_sha256": request_sha256, "created_at": sa.func.now()}
    unanswered = {"status_code": 0, "headers": {}, "body": None}
    claim = (
        insert(idempotency_keys).values(values | unanswered).on_conflict_do_nothing().returning(idempotency_keys.c.key)
    )
    while tx.execute(claim.returning(idempotency_keys.c.key)).first() is None:
        row = tx.execute(sa.select(idempotency_keys).where(_is(holder, key))).one_or_none()
        if row is not None:  # None: it was deleted between the two statements, so claim it again
            return SavedAnswer(bytes(row.request_sha256), row.status_code, row.headers, row.body)
    return None


def save_answer(
    tx: Transaction, holder: Holder, key: str, *, status_code: int, headers: Mapping[str, str], body: object
) -> None:
    """Save the answer under a key that this transaction has claimed."""
    values = {"status_code": status_code, "headers": dict(headers), "body": body}
    tx.execute(sa.update(idempotency_keys).where(_is(holder, key)).values(values))


def forget_keys(tx: Transaction, *, older_than_s: float) -> int:
    """Delete the keys that were claimed more than `older_than_s` seconds ago. Return the number of deleted keys."""
    moment = sa.func.now() - sa.func.make_interval(0, 0, 0, 0, 0, 0, older_than_s)
    return tx.execute(sa.delete(idempotency_keys).where(idempotency_keys.c.created_at < moment)).rowcount


def _column(holder: Holder) -> str:
    return "token_id" if isinstance(holder, int) else "person"


def _is(holder: Holder, key: str) -> sa.ColumnElement[bool]:
    return sa.and_(idempotency_keys.c[_column(holder)] == holder, idempotency_keys.c.key == key)
