"""Messages as files in a folder, for one machine: kombu's filesystem transport, made safe for several processes.

kombu writes a message in place, so a reader may find half of one, and takes it by a move that may cross file systems.
Here a file appears whole and is taken by one rename.
"""

from __future__ import annotations

import os
import time
import uuid
from contextlib import suppress
from pathlib import Path
from queue import Empty

from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.json import dumps, loads

LOOK_S_MAX = 0.25
"""A worker sees only between two looks that it is asked to end; Celery would look for 2 s."""
LEFT_AFTER_S = 3600.0
"""Writing and taking a message are over in milliseconds."""
SCHEME = "plimsoll-folder"


class Channel(filesystem.Channel):  # type: ignore[misc]  # kombu has no types
    """One folder, `data_folder_in`; the file's name holds the queue's and sorts by age."""

    def _put(self, queue: str, payload: object, **kwargs: object) -> None:
        folder = Path(self.data_folder_in)
        name = f"{time.time_ns():020d}_{uuid.uuid4().hex}.{queue}.msg"
        part = folder / f"{name}.part"
        part.write_text(dumps(payload))
        part.rename(folder / name)

    def _get(self, queue: str) -> object:
        folder = Path(self.data_folder_in)
        for name in sorted(name for name in os.listdir(folder) if name.partition(".")[2] == f"{queue}.msg"):
            taken = folder / f"{name}.taken"
            try:
                (folder / name).rename(taken)
            except FileNotFoundError:  # another worker was quicker
                continue
            payload = taken.read_text()
            taken.unlink()
            return loads(payload)
        raise Empty


class Transport(filesystem.Transport):  # type: ignore[misc]
    """The transport of SCHEME URLs."""

    Channel = Channel

    def drain_events(self, connection: object, timeout: float | None = None) -> None:
        """Wait for a message, `timeout` seconds or less. Raises TimeoutError where none came."""
        super().drain_events(connection, None if timeout is None else min(timeout, LOOK_S_MAX))


def sweep(folder: Path) -> None:
    """Remove what processes left that were killed while they wrote or took a message. Its job is sent again."""
    for left in (*folder.glob("*.part"), *folder.glob("*.taken")):
        with suppress(FileNotFoundError):  # another one sweeps too
            if time.time() - left.stat().st_mtime > LEFT_AFTER_S:
                left.unlink()


TRANSPORT_ALIASES[SCHEME] = f"{__name__}:Transport"
