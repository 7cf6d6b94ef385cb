"""Where the platform is and who asks: from the environment, or from what `plimsoll up` left behind."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from libs.reconcile.environment import Settings, read_environment
from services.cli.failure import CliFailure
from services.standalone.settings import StandaloneSettings


class ConnectionSettings(Settings):
    """PLIMSOLL_URL, and PLIMSOLL_TOKEN or PLIMSOLL_TOKEN_FILE."""

    model_config = SettingsConfigDict(env_ignore_empty=True)

    url: str | None = Field(default=None, validation_alias="PLIMSOLL_URL")
    token: SecretStr | None = Field(default=None, validation_alias="PLIMSOLL_TOKEN")
    token_file: Path | None = Field(default=None, validation_alias="PLIMSOLL_TOKEN_FILE")


def find_connection() -> tuple[str, str]:
    """The platform's address and a token. Raises CliFailure that says what to set."""
    settings = read_environment(ConnectionSettings)
    url, token_file = settings.url, settings.token_file
    endpoint = read_environment(StandaloneSettings).endpoint_file
    if url is None:
        if not endpoint.exists():
            raise CliFailure("no platform to talk to: run `plimsoll up`, or set PLIMSOLL_URL and PLIMSOLL_TOKEN")
        found = json.loads(endpoint.read_text())
        url, token_file = found["url"], token_file or Path(found["token_file"])
    if settings.token is not None:
        return url, settings.token.get_secret_value()
    if token_file is None:
        raise CliFailure(f"no token for {url}: set PLIMSOLL_TOKEN or PLIMSOLL_TOKEN_FILE")
    try:
        return url, token_file.read_text().strip()
    except OSError as error:
        raise CliFailure(f"cannot read the token file {token_file}: {error.strerror}") from error
