"""Check before long work that a command can write its files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from libs.interchange.files.atomic import require_writable
from services.cli.failure import CliFailure


def require_files(files: Mapping[str, Path | None]) -> None:
    """Raise CliFailure if a command could not write one of its files.

    files   option -> path; None: not wanted
    """
    for option, path in files.items():
        try:
            if path is not None:
                require_writable(path)
        except OSError as error:
            raise CliFailure(f"{option} {path}: cannot be written: {error.strerror}; name another file") from error
