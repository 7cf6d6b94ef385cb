"""The address on which a process answers HTTP."""

from __future__ import annotations

from pydantic import Field

from libs.reconcile.environment import Settings


class ListenSettings(Settings):
    """The address of an HTTP process, and the proxies before it.

    host, port        PLIMSOLL_LISTEN_HOST, PLIMSOLL_LISTEN_PORT
    trusted_proxies   PLIMSOLL_TRUSTED_PROXIES   addresses, with commas, of proxies whose X-Forwarded-For is believed
    """

    host: str = Field(default="127.0.0.1", validation_alias="PLIMSOLL_LISTEN_HOST")
    port: int = Field(default=8000, ge=0, le=65_535, validation_alias="PLIMSOLL_LISTEN_PORT")
    trusted_proxies: str | None = Field(default=None, validation_alias="PLIMSOLL_TRUSTED_PROXIES")
