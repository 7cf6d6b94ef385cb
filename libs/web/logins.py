"""The clients behind bearer tokens: the platform's own, and those of the issuers in the issuers' file."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from libs.domain.principal import Principal, Role
from libs.store.platform.database import Database
from libs.store.platform.sessions import load_session, note_use
from libs.store.platform.tokens import load_principal
from libs.web.problems import Problem

if TYPE_CHECKING:  # without an issuers' file, no process loads the code of signatures
    from libs.identity.identity import Identified, Identity

PREFIX = "plim_"
SESSION_PREFIX = f"{PREFIX}session_"
"""The first letters of a session's secret. Logs redact it like a token."""


@dataclass(frozen=True, slots=True)
class Client:
    """A client whose token is valid.

    principal    None: it may do nothing, because no rule gives its claims a role
    identified   what an issuer says of it; None: it has a token of the platform
    """

    principal: Principal | None
    identified: Identified | None = None

    @property
    def rated_by(self) -> str | int:
        """The key of its rate: a person of an issuer has one over all tokens, and a token over all sessions."""
        if self.identified is not None:
            return self.identified.person
        assert self.principal is not None
        assert self.principal.token_id is not None
        return self.principal.token_id


def bearer_of(authorization: str | None) -> str | None:
    """Return the bearer of an Authorization header; None if it has none."""
    scheme, _, secret = (authorization or "").partition(" ")
    return (secret.strip() or None) if scheme.lower() == "bearer" else None


def no_such_token() -> Problem:
    """Return the 401 for a token of the platform that opens nothing."""
    return invalid_token("No such token, or it was revoked. Ask an admin for a new one.")


def new_secret() -> str:
    """Return a new token, to be shown once."""
    return PREFIX + secrets.token_urlsafe(32)


def new_session_secret() -> str:
    """Return the secret of a new session."""
    return SESSION_PREFIX + secrets.token_urlsafe(32)


def digest(secret: str) -> bytes:
    """Return the stored digest of a token. A token has 256 random bits, so it needs no salt and no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


def find_client(secret: str, database: Database, identity: Identity | None) -> Client:
    """Return the client that sends this bearer: a session, a token of the platform, or a token of an issuer.

    Raises Problem: 401 if it is not valid, and 503 while it cannot be verified.
    """
    if secret.startswith(SESSION_PREFIX):
        return _in_session(secret, database, identity)
    if identity is not None and not secret.startswith(PREFIX):
        return _of_issuer(secret, identity)
    with database.snapshot() as tx:
        principal = load_principal(tx, digest(secret))
    if principal is None:
        raise no_such_token()
    return Client(principal)


def log_name(client: Client) -> str:
    """Return the name of a client for logs. A subject is a claim, so logs have a digest of it instead."""
    if client.identified is None:
        return "" if client.principal is None else client.principal.name
    person = client.identified.person
    return f"{client.identified.issuer.name}|sha256:{hashlib.sha256(person.encode()).hexdigest()[:12]}"


def require_principal(client: Client) -> Principal:
    """Return the principal of a client. Raises Problem (403) if no rule gives it a role."""
    if client.principal is not None:
        return client.principal
    assert client.identified is not None
    issuer = client.identified.issuer.name
    if lacking := _lacking(client.identified):
        raise Problem(403, "claims_left_out", lacking)
    detail = (
        f"You are known to the issuer {issuer}, but none of its rules in the issuers' file gives you a role. "
        "`plimsoll whoami` shows your claims and the rules; an operator of the platform changes the file."
    )
    raise Problem(403, "no_role", detail)


def invalid_token(detail: str) -> Problem:
    """Return the 401 for a token that is not valid."""
    return unauthenticated("invalid_token", detail, ', error="invalid_token"')


def unauthenticated(code: str, detail: str, error: str) -> Problem:
    """Return a 401. `error` is appended to the challenge."""
    return Problem(401, code, detail, headers={"WWW-Authenticate": f'Bearer realm="plimsoll"{error}'})


def _in_session(secret: str, database: Database, identity: Identity | None) -> Client:
    """Return the client of a session, and note its use from time to time.

    Raises Problem: 401 if it has ended, and 503 while its bearer cannot be verified.
    """
    with database.snapshot() as tx:
        session = load_session(tx, digest(secret))
    if session is None:
        raise _session_ended()
    client = Client(session.principal)
    if session.sealed_bearer is not None:
        client = _of_sealed(session.sealed_bearer, secret, session.session_id, identity)
    if session.unnoted:
        with database.write() as tx:
            note_use(tx, session.session_id)
    return client


def _of_sealed(sealed: str, secret: str, session_id: int, identity: Identity | None) -> Client:
    """Return the client of the bearer in a session, by the rules of now. Raises Problem: 401 and 503."""
    if identity is None:  # the issuers' file was taken away
        raise _session_ended()
    from libs.identity.sealed import NotSealed, unseal

    try:
        client = _of_issuer(unseal(sealed, secret), identity)
    except NotSealed as error:
        raise _session_ended() from error
    if client.principal is None:
        return client
    return replace(client, principal=replace(client.principal, session_id=session_id))


def _session_ended() -> Problem:
    return invalid_token("The session has ended: log in again.")


def _of_issuer(secret: str, identity: Identity) -> Client:
    from libs.identity.identity import Unverifiable
    from libs.identity.verify import Refused

    try:
        found = identity.identify(secret)
    except Refused as error:
        raise invalid_token(f"The token is not valid: {error}.") from error
    except Unverifiable as error:
        raise Problem(
            503, "unavailable", f"{error}. Try again in a few seconds.", headers={"Retry-After": "2"}
        ) from error
    access = found.access
    if access.role is None:
        return Client(None, found)
    principal = Principal(
        token_id=None,
        name=found.person,
        person=found.person,
        role=access.role,
        owners=access.owners if access.role is Role.REQUESTER else frozenset(),
        lacking=_lacking(found),
    )
    return Client(principal, found)


def _lacking(found: Identified) -> str:
    """Return the sentence about claims that the issuer left out, or "" if it left out none that rules read."""
    left_out = found.access.left_out
    if not left_out:
        return ""
    return (
        f"The issuer {found.issuer.name} left the claim {' and '.join(left_out)} out of your token, because you are in "
        "too many groups for it. In Entra, an administrator mends it with app roles (rules on the claim roles), or by "
        "emitting only the groups that are assigned to the application."
    )
