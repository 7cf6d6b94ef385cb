"""Find the platform's address and a token: in the environment, of a login, or in the files of `plimsoll up`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from libs.reconcile.environment import Settings, read_environment
from services.cli.failure import CliFailure
from services.cli.saved_logins import is_logged_in, login_token
from services.standalone.settings import StandaloneSettings

_TOKEN_MAX = 16_384
_TOKEN = re.compile(rf"[!-~]{{1,{_TOKEN_MAX}}}")


class ConnectionSettings(Settings):
    """PLIMSOLL_URL, and PLIMSOLL_TOKEN or PLIMSOLL_TOKEN_FILE."""

    model_config = SettingsConfigDict(env_ignore_empty=True)

    url: str | None = Field(default=None, validation_alias="PLIMSOLL_URL")
    token: SecretStr | None = Field(default=None, validation_alias="PLIMSOLL_TOKEN")
    token_file: Path | None = Field(default=None, validation_alias="PLIMSOLL_TOKEN_FILE")


def find_url() -> str:
    """Return the platform's address. Raises CliFailure that names the variable to set."""
    return _find_url(read_environment(ConnectionSettings))[0]


def find_connection() -> tuple[str, str | Callable[[], str]]:
    """Return the platform's address, and a token or what gets one for each request.

    PLIMSOLL_TOKEN comes first, then PLIMSOLL_TOKEN_FILE, then a login, then the token of `plimsoll up`. Raises
    CliFailure that names the variable to set.
    """
    settings = read_environment(ConnectionSettings)
    url, file_of_up = _find_url(settings)
    if settings.token is not None:
        return url, _token("PLIMSOLL_TOKEN", settings.token.get_secret_value())
    if settings.token_file is None and is_logged_in(url):
        return url, lambda: login_token(url)
    token_file = settings.token_file or file_of_up
    if token_file is None:
        raise CliFailure(f"no token for {url}: run `plimsoll login`, or set PLIMSOLL_TOKEN or PLIMSOLL_TOKEN_FILE")
    try:
        return url, _token(f"the token file {token_file}", token_file.read_text("utf-8", "replace"))
    except OSError as error:
        raise CliFailure(f"cannot read the token file {token_file}: {error.strerror}") from error


def _find_url(settings: ConnectionSettings) -> tuple[str, Path | None]:
    """Return the platform's address, and the token file of the `plimsoll up` that serves there; None: another does."""
    url, file = settings.url, None
    if url is None:
        endpoint = read_environment(StandaloneSettings).endpoint_file
        if not endpoint.exists():
            raise CliFailure("no platform to talk to: run `plimsoll up`, or set PLIMSOLL_URL and PLIMSOLL_TOKEN")
        found = json.loads(endpoint.read_text())
        url, file = str(found["url"]), Path(found["token_file"])
    if not url.startswith(("http://", "https://")):
        raise CliFailure(f"PLIMSOLL_URL is {url}: write http:// or https:// before it")
    return url, file


def _token(where: str, text: str) -> str:
    """Return a token without surrounding space. Never show an invalid one, because it may be another secret."""
    token = text.strip()
    if not _TOKEN.fullmatch(token):
        raise CliFailure(
            f"{where} holds no token: a token is one word, such as plim_..., of at most {_TOKEN_MAX} letters"
        )
    return token
