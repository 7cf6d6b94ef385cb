"""Make the first admin token at set-up. An operator makes all other tokens with the first one."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from libs.domain.principal import Role
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.tokens import create_token, load_principal
from libs.web.auth import digest, new_secret

NAME = "first-admin"


def ensure_admin_token(tx: Transaction, path: Path, *, now: datetime) -> bool:
    """Make sure that `path` holds the secret of a valid admin token, readable by this user alone. Return True if it is
    new.

    A file with a valid secret stays. Otherwise a token is made. The file is written before the token commits. If set-up
    dies in between, the file holds a useless secret, and the next set-up replaces it. Raises OSError if the file cannot
    be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    known = path.read_text().strip() if path.is_file() else ""
    principal = load_principal(tx, digest(known)) if known else None
    if principal is not None and principal.role is Role.ADMIN:
        path.chmod(0o600)
        return False
    secret = new_secret()
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
