"""The portals of regions: their addresses, and the files with the tokens for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, HttpUrl, ValidationError, model_validator

from libs.carriers.calls import CallLimits
from libs.reconcile.environment import Settings
from libs.reconcile.outgoing import require_encrypted


class TokenError(Exception):
    """The token of a portal cannot be used. The message names the file, and never the token."""


class PortalAddress(BaseModel):
    """The portal of a region, and the file that holds a token for it."""

    model_config = ConfigDict(extra="forbid")
    url: HttpUrl
    token_file: Path
    http_allowed: bool = False

    @model_validator(mode="after")
    def _encrypted(self) -> Self:
        require_encrypted(str(self.url), plain_allowed=self.http_allowed, setting="http_allowed of this portal")
        return self

    @property
    def base(self) -> str:
        """Return the address without a slash at its end."""
        return str(self.url).rstrip("/")

    def headers(self, agent: str) -> dict[str, str]:
        """Return the headers of a call. The file is read each time, so a token may be replaced. Raises TokenError."""
        try:
            token = self.token_file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            said = error.strerror if isinstance(error, OSError) else "it is not text"
            raise TokenError(f"the token cannot be read: {self.token_file}: {said}") from None
        # An HTTP library quotes a header that it refuses, and the quote would end up in notes and logs.
        if not token or not all("!" <= c <= "~" for c in token):
            raise TokenError(f"{self.token_file} must hold one token of printable ASCII characters, and nothing else")
        return {"Authorization": f"Bearer {token}", "User-Agent": agent}


class Portals(BaseModel):
    """The file that PLIMSOLL_PORTALS names: region -> its portal."""

    model_config = ConfigDict(extra="forbid")
    regions: Mapping[str, PortalAddress]


class PortalSettings(Settings):
    """The file of portals, and the limits on calls. Without a file no region is called."""

    portals: Path | None = Field(default=None, validation_alias="PLIMSOLL_PORTALS")
    portal_ca: Path | None = Field(default=None, validation_alias="PLIMSOLL_PORTAL_CA")
    portal_timeout_s: float = Field(default=10.0, gt=0, le=300, validation_alias="PLIMSOLL_PORTAL_TIMEOUT_S")

    def read(self) -> Portals:
        """Return the content of the file; no portal without a file. Raises ValueError that names the file and the
        field.
        """
        if self.portals is None:
            return Portals(regions={})
        try:
            return Portals.model_validate_json(self.portals.read_bytes())
        except (OSError, ValidationError) as error:
            raise ValueError(f"{self.portals} (PLIMSOLL_PORTALS): {error}") from error

    def limits(self) -> CallLimits:
        """Return the limits on calls."""
        return CallLimits(timeout_s=self.portal_timeout_s, ca=self.portal_ca)
