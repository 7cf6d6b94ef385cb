"""Logins that were saved, by the address of the platform. Only this user may read the file."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from libs.reconcile.environment import Settings, read_environment
from services.cli.failure import CliFailure
from services.standalone.settings import XdgSettings

EARLY_S = 60.0
"""Seconds before the end of a token in which it is renewed."""


class LoginSettings(Settings):
    """The file of logins.

    file           PLIMSOLL_LOGIN_FILE           default: below XDG_STATE_HOME
    http_allowed   PLIMSOLL_LOGIN_HTTP_ALLOWED   whether http to an issuer on another host is allowed
    """

    model_config = SettingsConfigDict(env_ignore_empty=True)

    file: Path = Field(
        default_factory=lambda: XdgSettings().state_home / "plimsoll-logins" / "logins.json",
        validation_alias="PLIMSOLL_LOGIN_FILE",
    )
    http_allowed: bool = Field(default=False, validation_alias="PLIMSOLL_LOGIN_HTTP_ALLOWED")


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedLogin:
    """A login at one platform. `expires_at` is the end of the access token, in seconds since 1970."""

    issuer: str
    client_id: str
    access_token: str
    refresh_token: str | None
    expires_at: float


def save_login(url: str, login: SavedLogin | None) -> bool:
    """Keep a login at the platform `url`; None: forget it. Return whether there was one."""
    settings = read_environment(LoginSettings)
    with _locked(settings.file):
        found = _read(settings.file)
        there = found.pop(url, None) is not None
        if login is not None:
            found[url] = asdict(login)
        if there or login is not None:
            _write(settings.file, found)
        return there


def is_logged_in(url: str) -> bool:
    """Return whether there is a login at the platform `url`."""
    settings = read_environment(LoginSettings)
    return settings.file.exists() and url in _read(settings.file)


def login_token(url: str) -> str:
    """Return an access token for the platform `url`, and renew it if it ends soon.

    One command at a time renews, because many issuers take a refresh token once. Raises CliFailure.
    """
    settings = read_environment(LoginSettings)
    with _locked(settings.file):
        found = _read(settings.file)
        login = _login(found, url, settings.file)
        left_s = login.expires_at - time.time()
        if left_s > EARLY_S:
            return login.access_token
        if login.refresh_token is None:
            if left_s > 0:
                return login.access_token
            raise CliFailure(f"the login at {url} has ended: run `plimsoll login`")
        from services.cli.device_flow import DeviceFlow, LoginEnded

        try:
            flow = DeviceFlow(login.issuer, login.client_id, http=settings.http_allowed)
            new = flow.renew(login.refresh_token)
        except LoginEnded:
            raise
        except CliFailure:
            if left_s > 0:  # the issuer is away, and the token still counts
                return login.access_token
            raise
        renewed = replace(
            login,
            access_token=new.access_token,
            refresh_token=new.refresh_token,
            expires_at=new.expires_at,
        )
        _write(settings.file, {**found, url: asdict(renewed)})
        return renewed.access_token


def _login(found: dict[str, Any], url: str, file: Path) -> SavedLogin:
    try:
        return SavedLogin(**found[url])
    except (KeyError, TypeError) as error:
        raise CliFailure(f"{file} has no login at {url}: run `plimsoll login`") from error


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(f"{file}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CliFailure(f"cannot keep a login in {file.parent}: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CliFailure(f"cannot read the logins in {file}: delete the file and run `plimsoll login`") from error
    if not isinstance(found, dict):
        raise CliFailure(f"cannot read the logins in {file}: delete the file and run `plimsoll login`")
    return found


def _write(file: Path, logins: dict[str, Any]) -> None:
    """Write the whole file or nothing. Other users can never read it."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "w") as stream:
            json.dump(logins, stream, indent=1)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
