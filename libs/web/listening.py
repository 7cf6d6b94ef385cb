"""The address on which a process answers HTTP."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Annotated

from pydantic import AfterValidator, Field

from libs.reconcile.environment import Settings


def _of_networks(text: str) -> str:
    """Return addresses and networks with commas. Raises ValueError for others: uvicorn would take them, and no proxy
    would be believed.
    """
    for one in text.split(","):
        try:
            ip_network(one.strip())
        except ValueError as error:
            if text.strip() != "*":
                raise ValueError("write addresses and networks with commas, such as 10.0.0.7,10.244.0.0/16") from error
    return text


TrustedProxies = Annotated[str, AfterValidator(_of_networks)]
"""Addresses and networks, with commas, of proxies whose X-Forwarded-For is believed; `*`: every client."""


class ListenSettings(Settings):
    """The address of an HTTP process, and the proxies before it.

    host, port        PLIMSOLL_LISTEN_HOST, PLIMSOLL_LISTEN_PORT
    trusted_proxies   PLIMSOLL_TRUSTED_PROXIES   addresses, with commas, of proxies whose X-Forwarded-For is believed
    """

    host: str = Field(default="127.0.0.1", validation_alias="PLIMSOLL_LISTEN_HOST")
    port: int = Field(default=8000, ge=0, le=65_535, validation_alias="PLIMSOLL_LISTEN_PORT")
    trusted_proxies: TrustedProxies | None = Field(default=None, validation_alias="PLIMSOLL_TRUSTED_PROXIES")
