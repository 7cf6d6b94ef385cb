"""Read the settings of the pages from the environment."""

from __future__ import annotations

from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import SettingsConfigDict

from libs.observability.logs import LogLevel
from libs.reconcile.outgoing import is_loopback
from libs.reconcile.settings import ClockSettings

CALLBACK = "/login/callback"
"""The path below which each issuer has one of its own, to which it sends people back."""


class PagesSettings(ClockSettings):
    """The API behind the pages, the patience with it, and the logins at issuers.

    api_url          PLIMSOLL_URL                    where the API listens; for the pages alone, not for the browser
    api_s_max        PLIMSOLL_PAGES_API_S_MAX        seconds that one call may take
    log_level        PLIMSOLL_LOG_LEVEL
    redirect_uri     PLIMSOLL_PAGES_REDIRECT_URI     the address of the pages with CALLBACK. An issuer sends people back
                                                     to it with / and the issuer's name behind it; None: people
                                                     log in with tokens alone
    client_secrets   PLIMSOLL_PAGES_CLIENT_SECRETS   JSON: name of an issuer -> secret of the pages' client there
    """

    model_config = SettingsConfigDict(env_ignore_empty=True)

    api_url: str = Field(default="http://127.0.0.1:8000", pattern=r"^https?://", validation_alias="PLIMSOLL_URL")
    api_s_max: float = Field(default=60.0, gt=0, le=600, validation_alias="PLIMSOLL_PAGES_API_S_MAX")
    log_level: LogLevel = Field(default="INFO", validation_alias="PLIMSOLL_LOG_LEVEL")
    redirect_uri: str | None = Field(default=None, validation_alias="PLIMSOLL_PAGES_REDIRECT_URI")
    client_secrets: dict[str, SecretStr] = Field(default={}, validation_alias="PLIMSOLL_PAGES_CLIENT_SECRETS")

    @field_validator("redirect_uri")
    @classmethod
    def _is_callback(cls, uri: str | None) -> str | None:
        """Return the address if it is one of ours. Raises ValueError."""
        if uri is not None:
            parts = urlsplit(uri)
            if uri != f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{CALLBACK}":
                raise ValueError(f"must be the address of the pages and then {CALLBACK}, in lower case")
            if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
                raise ValueError("must begin with https://, except on this host")
        return uri
