"""Sessions of people in the pages. Only the SHA-256 of a session's secret is stored.

A session has the rights of its bearer at each request. Most are of a token of the platform, which is read again. So a
token that is revoked, or loses an owner, takes effect at once. When a rotation ends a secret, it ends the sessions of
that time too. The others are of a token of an issuer, which is kept encrypted with a key that the secret gives (design
0050). They end with this token. Browsers work in real time, so all times count by the database's clock, never by the
Clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from libs.domain.principal import Principal, Role
from libs.store.platform.database import Transaction
from libs.store.tables import sessions, tokens

IDLE_S_MAX = 2 * 3600.0
"""Seconds without a request after which a session ends."""
LIFE_S_MAX = 12 * 3600.0
"""Seconds after its start when a session ends, used or not: the longest working day."""
NOTED_EVERY_S = 60.0
"""Least seconds between two notes of a session's use, so that a page that polls costs few writes."""

SESSIONS_MAX = 100
"""Largest number of sessions of a token, or of a person of an issuer. A further one ends the oldest."""

_ENDS_AT = f"least(sessions.created_at + make_interval(secs => {LIFE_S_MAX}), sessions.bearer_ends_at)"
_ALIVE = f"sessions.seen_at > now() - make_interval(secs => {IDLE_S_MAX}) AND {_ENDS_AT} > now()"
_OPENED = """revoked_at IS NULL
    AND (previous_until IS NULL OR previous_until > now() OR sessions.created_at > previous_until)"""
"""Sessions whose token is as it was, or was rotated before they began, or has a secret in its grace. Sessions without
a token of the platform are opened too: `revoked_at` and `previous_until` are NULL for them.
"""
_PRINCIPAL = f"""
    SELECT session_id, token_id, name, coalesce(tokens.person, name) AS person, role, owners, sealed_bearer,
           sessions.created_at, {_ENDS_AT} AS ends_at,
           seen_at < now() - make_interval(secs => {NOTED_EVERY_S}) AS unnoted
    FROM sessions LEFT JOIN tokens USING (token_id)
    WHERE sessions.secret_sha256 = :secret_sha256 AND {_OPENED} AND {_ALIVE}"""
_OLDEST = """
    DELETE FROM sessions WHERE session_id IN (
        SELECT session_id FROM sessions WHERE {holder} = :holder ORDER BY session_id DESC OFFSET :most)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session that has not ended.

    principal       the principal of its token; None: its bearer is of an issuer
    sealed_bearer   that bearer, which only the session's secret opens; None: it has a token of the platform
    ends_at         the latest time of its end, by the database's clock
    unnoted         whether its last noted use is older than NOTED_EVERY_S
    """

    session_id: int
    principal: Principal | None
    sealed_bearer: str | None
    created_at: datetime
    ends_at: datetime
    unnoted: bool


def start_session(tx: Transaction, token_id: int, *, token_sha256: bytes, secret_sha256: bytes) -> int | None:
    """Start a session with the rights of a token. Return its id; None if the secret of the token, whose digest is
    `token_sha256`, has become invalid.
    """
    # Under the lock, a rotation comes before or after. After it, the clock of this moment is past its `previous_until`.
    t, now = tokens.c, sa.func.clock_timestamp()
    is_it = sa.or_(t.secret_sha256 == token_sha256, sa.and_(t.previous_sha256 == token_sha256, t.previous_until > now))
    token = sa.select(t.token_id).where(t.token_id == token_id, t.revoked_at.is_(None), is_it)
    if tx.execute(token.with_for_update(key_share=True)).one_or_none() is None:
        return None
    return _add(tx, "token_id", {"token_id": token_id, "secret_sha256": secret_sha256})


def start_login_session(
    tx: Transaction, person: str, *, sealed_bearer: str, bearer_ends_at: datetime, secret_sha256: bytes
) -> int:
    """Start a session of a person of an issuer, until `bearer_ends_at` at the latest. Return its id."""
    values = {"person": person, "sealed_bearer": sealed_bearer, "bearer_ends_at": bearer_ends_at}
    return _add(tx, "person", {**values, "secret_sha256": secret_sha256})


def load_session(tx: Transaction, secret_sha256: bytes) -> Session | None:
    """Return the session whose secret has this digest. Return None if it is unknown or has ended, or its token was
    revoked, or its secret rotated away.
    """
    row = tx.execute(sa.text(_PRINCIPAL), {"secret_sha256": secret_sha256}).one_or_none()
    if row is None:
        return None
    principal = None
    if row.token_id is not None:
        principal = Principal(
            token_id=row.token_id,
            name=row.name,
            person=row.person,
            role=Role(row.role),
            owners=frozenset(row.owners),
            session_id=row.session_id,
        )
    return Session(
        session_id=row.session_id,
        principal=principal,
        sealed_bearer=row.sealed_bearer,
        created_at=row.created_at,
        ends_at=row.ends_at,
        unnoted=row.unnoted,
    )


def load_session_end(tx: Transaction, session_id: int) -> datetime | None:
    """Return the latest time at which a session ends. Return None if it has ended."""
    query = f"SELECT {_ENDS_AT} FROM sessions WHERE session_id = :id AND {_ALIVE}"
    found: datetime | None = tx.execute(sa.text(query), {"id": session_id}).scalar_one_or_none()
    return found


def note_use(tx: Transaction, session_id: int) -> None:
    """Note that a session is in use now. A session that was ended meanwhile stays ended."""
    tx.execute(sa.update(sessions).where(sessions.c.session_id == session_id).values(seen_at=sa.func.now()))


def end_session(tx: Transaction, session_id: int) -> None:
    """End a session. Ending it again changes nothing."""
    tx.execute(sa.delete(sessions).where(sessions.c.session_id == session_id))


def forget_sessions(tx: Transaction) -> int:
    """Delete the sessions that have ended by their limits, or with their token. Return their number."""
    ended = f"""
        DELETE FROM sessions WHERE session_id IN (
            SELECT session_id FROM sessions LEFT JOIN tokens USING (token_id) WHERE NOT ({_OPENED} AND {_ALIVE}))"""
    return tx.execute(sa.text(ended)).rowcount


def _add(tx: Transaction, holder: str, values: dict[str, Any]) -> int:
    """Add a session of the holder in the column `holder`, and end those beyond SESSIONS_MAX. Return its id."""
    now = sa.func.clock_timestamp()
    added = sa.insert(sessions).values(created_at=now, seen_at=now, **values).returning(sessions.c.session_id)
    made = int(tx.execute(added).scalar_one())
    tx.execute(sa.text(_OLDEST.format(holder=holder)), {"holder": values[holder], "most": SESSIONS_MAX})
    return made
