"""Rules for calls that leave this host: they are encrypted, and they go only to hosts of our own settings."""

from __future__ import annotations

import ssl
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit


def require_encrypted(url: str, *, plain_allowed: bool, setting: str) -> None:
    """Raise ValueError for http to another host, unless `plain_allowed`. The error names the setting for that."""
    parts = urlsplit(url)
    if parts.scheme == "https" or plain_allowed or is_loopback(parts.hostname or ""):
        return
    raise ValueError(f"http to another host hides nothing: use https, or set {setting}=true where something else does")


def trusted_by(ca: Path | None) -> ssl.SSLContext:
    """Return a TLS context that trusts only the authorities in the PEM file `ca`, or the usual authorities if `ca` is
    None.

    Raises ValueError if the file cannot be read or holds no certificates.
    """
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise ValueError(f"{ca} is not a readable file of PEM certificates: {error}") from error


def is_loopback(host: str) -> bool:
    """Return whether a host of a URL is this one."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
