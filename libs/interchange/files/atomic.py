"""Write a file atomically: a reader sees either the whole new file or nothing of it."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def require_writable(path: Path) -> None:
    """Raise OSError if `replacing` could not write this file. Ask before long work whose result goes there."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=path.parent):
        pass


@contextmanager
def replacing(path: Path, *, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """Yield a stream to a temporary file beside `path`, which replaces `path` once it is written and synced. Then the
    new name is on the disk too.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
