"""Messages as files in a folder, for one machine: kombu's filesystem transport, made safe for several processes.

kombu writes a message in place, so a reader may find half of one. It takes a message by a move, which may cross file
systems. Here a file appears as a whole and is taken by one rename.
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
"""Seconds between two looks. A worker notices a request to end only between looks; Celery's own interval is 2 s."""
LEFT_AFTER_S = 3600.0
"""Age in seconds at which a partial file counts as left behind. Writing and taking a message take milliseconds."""
SCHEME = "plimsoll-folder"


class Channel(filesystem.Channel):  # type: ignore[misc]  # kombu has no types
    """One folder, `data_folder_in`. The name of a file contains its queue and sorts by age."""

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
            except FileNotFoundError:  # another worker took it first
                continue
            payload = taken.read_text()
            taken.unlink()
            return loads(payload)
        raise Empty


class Transport(filesystem.Transport):  # type: ignore[misc]
    """The transport of SCHEME URLs."""

    Channel = Channel

    def drain_events(self, connection: object, timeout: float | None = None) -> None:
        """Wait for a message, for at most `timeout` seconds. Raises TimeoutError if none came."""
        super().drain_events(connection, None if timeout is None else min(timeout, LOOK_S_MAX))


def sweep(folder: Path) -> None:
    """Delete the files of processes that were killed while they wrote or took a message. Their jobs are sent again."""
    for left in (*folder.glob("*.part"), *folder.glob("*.taken")):
        with suppress(FileNotFoundError):  # another one sweeps too
            if time.time() - left.stat().st_mtime > LEFT_AFTER_S:
                left.unlink()


TRANSPORT_ALIASES[SCHEME] = f"{__name__}:Transport"
