"""Read and write a world in a zip file: the replay bundle of a plan, which can be planned again like a folder."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from libs.interchange.files.atomic import replacing
from libs.interchange.files.bounds import FILE_BYTES_MAX
from libs.interchange.files.errors import InterchangeError, Problem
from libs.interchange.files.tables import Content, Source

_FILES_MAX = 64


def save_world(path: Path, files: Mapping[str, Content]) -> None:
    """Write the zip atomically. Equal worlds make equal files, because the dates in the zip are fixed."""
    with replacing(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            if not isinstance(content, bytes):
                raise TypeError(f"{name} is not in memory")
            archive.writestr(zipfile.ZipInfo(name), content)


def open_world(path: Path) -> Source:
    """Return a world folder as it is, or the files of a zip. Raises InterchangeError."""
    if path.is_dir():
        return path
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(entries) > _FILES_MAX or sum(entry.file_size for entry in entries) > FILE_BYTES_MAX:
                message = f"holds more than {_FILES_MAX} files, or than {FILE_BYTES_MAX >> 20} MiB"
                raise InterchangeError([Problem(path.name, None, None, message)])
            return {entry.filename: archive.read(entry) for entry in entries}
    except (OSError, zipfile.BadZipFile, zlib.error, RuntimeError) as error:  # RuntimeError: encrypted
        raise InterchangeError(
            [Problem(str(path), None, None, "is neither a world folder nor a zip of one")]
        ) from error
