"""Make the first admin token at set-up. An operator makes all other tokens with the first one."""

from __future__ import annotations

import os
import re
from datetime import datetime
from pathlib import Path

from structlog import get_logger

from libs.domain.principal import Role
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.tokens import create_token, list_tokens, load_principal
from libs.web.auth import PREFIX, digest, new_secret

NAME = "first-admin"
_WELL_FORMED = re.compile(re.escape(PREFIX) + "[A-Za-z0-9_-]{43,200}")
"""The form of new_secret(), or longer."""
log = get_logger(__name__)


def ensure_admin_token(tx: Transaction, path: Path, *, now: datetime) -> bool:
    """Make sure that `path` holds the secret of a valid admin token, readable by this user alone. Return True if the
    token is new.

    A file with a valid secret stays as it is. An operator may bring the file, for example as a Secret of Kubernetes: in
    a database without any token, its well-formed secret becomes that of the first token. Otherwise a new secret is
    written, before the token commits. If set-up dies in between, the next set-up mends it. A file in a folder that this
    process cannot write belongs to the operator. It stays even if its secret is not valid any more.
    Raises OSError if the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    known = path.read_text().strip() if path.is_file() else ""
    principal = load_principal(tx, digest(known)) if known else None
    brought = path.is_file() and not os.access(path.parent, os.W_OK)
    if principal is not None and principal.role is Role.ADMIN:
        if not brought:
            path.chmod(0o600)
        return False
    taken = _WELL_FORMED.fullmatch(known) is not None and not list_tokens(tx, after=None, limit=1).items
    if brought and not taken:
        log.warning("admin_token.not_valid", path=str(path), hint="an admin makes tokens: POST /v1/tokens")
        return False
    secret = known if taken else new_secret()
    token = None
    number = 1
    while token is None:  # the file of an earlier token was lost, and names are never used twice
        name = NAME if number == 1 else f"{NAME}-{number}"
        token = create_token(tx, name=name, role=Role.ADMIN, secret_sha256=digest(secret), now=now)
        number += 1
    after = {"name": token.name, "role": token.role.value}
    audit.append(
        tx, actor="setup", action="create", subject_kind="token", subject_id=token.token_id, now=now, after=after
    )
    if not brought:
        _write_private(path, secret + "\n")
    return True


def _write_private(path: Path, text: str) -> None:
    """Write the whole file or nothing. Other users can never read it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
