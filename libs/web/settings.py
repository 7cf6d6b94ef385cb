"""Settings of the processes that answer HTTP, read from the environment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from libs.observability.logs import LogLevel
from libs.reconcile.environment import Settings
from libs.reconcile.settings import ClockSettings
from libs.store.platform.settings import StoreSettings
from libs.web.rates import RateSettings

if TYPE_CHECKING:
    from libs.identity.identity import Identity


class ApiSettings(StoreSettings, ClockSettings, RateSettings):
    """The database, the clock, how fast clients may ask, and how much to log."""

    log_level: LogLevel = Field(default="INFO", validation_alias="PLIMSOLL_LOG_LEVEL")


class IdentitySettings(Settings):
    """The issuers whose tokens are taken besides the platform's own.

    issuers_file   PLIMSOLL_ISSUERS_FILE           YAML; None: there are none
    http_allowed   PLIMSOLL_ISSUERS_HTTP_ALLOWED   whether http to another host is allowed
    """

    model_config = SettingsConfigDict(env_ignore_empty=True)

    issuers_file: Path | None = Field(default=None, validation_alias="PLIMSOLL_ISSUERS_FILE")
    http_allowed: bool = Field(default=False, validation_alias="PLIMSOLL_ISSUERS_HTTP_ALLOWED")

    def identity(self) -> Identity | None:
        """Return the issuers, and begin to fetch their keys. Raises SystemExit with one line if the file is wrong."""
        if self.issuers_file is None:
            return None
        from libs.identity.identity import Identity  # here: signatures take code that most processes never need
        from libs.identity.yaml_places import FileError

        try:
            identity = Identity(self.issuers_file, http=self.http_allowed)
        except (FileError, OSError) as error:
            raise SystemExit(f"plimsoll: PLIMSOLL_ISSUERS_FILE: {error}") from error
        identity.start()
        return identity


class DecodingSettings(Settings):
    """The memory for decoding in one process, over all requests, in bytes."""

    decoding_bytes: int = Field(default=800 << 20, ge=1 << 20, validation_alias="PLIMSOLL_DECODING_BYTES")
