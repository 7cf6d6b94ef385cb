"""Find the platform's address and a token, in the environment or in the files of `plimsoll up`."""

from __future__ import annotations

import json
import re
from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from libs.reconcile.environment import Settings, read_environment
from services.cli.failure import CliFailure
from services.standalone.settings import StandaloneSettings

_TOKEN_MAX = 200
_TOKEN = re.compile(rf"[!-~]{{1,{_TOKEN_MAX}}}")


class ConnectionSettings(Settings):
    """PLIMSOLL_URL, and PLIMSOLL_TOKEN or PLIMSOLL_TOKEN_FILE."""

    model_config = SettingsConfigDict(env_ignore_empty=True)

    url: str | None = Field(default=None, validation_alias="PLIMSOLL_URL")
    token: SecretStr | None = Field(default=None, validation_alias="PLIMSOLL_TOKEN")
    token_file: Path | None = Field(default=None, validation_alias="PLIMSOLL_TOKEN_FILE")


def find_connection() -> tuple[str, str]:
    """Return the platform's address and a token. Raises CliFailure that names the variable to set."""
    settings = read_environment(ConnectionSettings)
    url, token_file = settings.url, settings.token_file
    endpoint = read_environment(StandaloneSettings).endpoint_file
    if url is None:
        if not endpoint.exists():
            raise CliFailure("no platform to talk to: run `plimsoll up`, or set PLIMSOLL_URL and PLIMSOLL_TOKEN")
        found = json.loads(endpoint.read_text())
        url, token_file = found["url"], token_file or Path(found["token_file"])
    if not url.startswith(("http://", "https://")):
        raise CliFailure(f"PLIMSOLL_URL is {url}: write http:// or https:// before it")
    if settings.token is not None:
        return url, _token("PLIMSOLL_TOKEN", settings.token.get_secret_value())
    if token_file is None:
        raise CliFailure(f"no token for {url}: set PLIMSOLL_TOKEN or PLIMSOLL_TOKEN_FILE")
    try:
        return url, _token(f"the token file {token_file}", token_file.read_text("utf-8", "replace"))
    except OSError as error:
        raise CliFailure(f"cannot read the token file {token_file}: {error.strerror}") from error


def _token(where: str, text: str) -> str:
    """Return a token without surrounding space. Never show an invalid one, because it may be another secret."""
    token = text.strip()
    if not _TOKEN.fullmatch(token):
        raise CliFailure(
            f"{where} holds no token: a token is one word, such as plim_..., of at most {_TOKEN_MAX} letters"
        )
    return token
