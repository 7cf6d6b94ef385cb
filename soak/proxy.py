"""A proxy between the platform's processes and their database. It forwards, cuts or delays the connections."""

from __future__ import annotations

import random
import select
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, quote, urlsplit, urlunsplit

_SOCKET = ".s.PGSQL.5432"
_CHUNK = 1 << 16


class DatabaseProxy:
    """A proxy that listens on a Unix socket in `folder`. `route` returns the URL that leads through it."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._upstream = folder, ""
        self.database_url = ""
        """URL of the database itself, not through the proxy; known after `route` was called."""
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(str(folder / _SOCKET))
        self._listening.listen(128)
        self._lock = threading.Lock()
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._stalled_until_s = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="database-proxy", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()
        self.cut(1.0, random.Random())
        self._listening.close()

    def route(self, database_url: str) -> str:
        """Return a URL that leads through the proxy. The database must be on a Unix socket."""
        parts = urlsplit(database_url)
        self.database_url = database_url
        self._upstream = f"{parse_qs(parts.query)['host'][0]}/{_SOCKET}"
        return urlunsplit(parts._replace(query=f"host={quote(str(self._folder))}"))

    def cut(self, share: float, chance: random.Random) -> int:
        """Break a share of the connections, even in the middle of a message, and return their number."""
        with self._lock:
            chosen = [one for one in list(self._pairs) if chance.random() < share]
            for one in chosen:
                self._close(one)
        return len(chosen)

    def stall(self, duration_s: float) -> None:
        """Delay everything for `duration_s`, new connections too."""
        self._stalled_until_s = time.monotonic() + duration_s

    def _run(self) -> None:
        while not self._over.is_set():
            if time.monotonic() < self._stalled_until_s:
                time.sleep(0.02)
                continue
            with self._lock:
                watched = [self._listening, *self._pairs]
            readable: list[socket.socket] = []
            with suppress(OSError, ValueError):  # a socket was cut meanwhile
                readable, _, _ = select.select(watched, [], [], 0.05)
            for one in readable:
                if one is self._listening:
                    self._accept()
                else:
                    self._pass_on(one)

    def _accept(self) -> None:
        client, _ = self._listening.accept()
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            server.connect(self._upstream)
        except OSError:  # the database is down
            client.close()
            server.close()
            return
        for one in (client, server):  # a peer that does not read must not block the others
            one.settimeout(5.0)
        with self._lock:
            self._pairs[client], self._pairs[server] = server, client

    def _pass_on(self, one: socket.socket) -> None:
        with self._lock:
            other = self._pairs.get(one)
        if other is None:
            return
        try:
            content = one.recv(_CHUNK)
            if content:
                other.sendall(content)
        except OSError:
            content = b""
        if not content:
            with self._lock:
                self._close(one)

    def _close(self, one: socket.socket) -> None:
        other = self._pairs.pop(one, None)
        if other is not None:
            self._pairs.pop(other, None)
            other.close()
        one.close()
