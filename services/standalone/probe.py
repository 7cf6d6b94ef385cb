"""Ask a child whether it is ready: a server over HTTP, one request at a time and without a time limit, and any other
process by the file that it touches.
"""

from __future__ import annotations

import socket
import time
from pathlib import Path

_CONNECT_S_MAX = 1.0
_AGAIN_S_MIN, _AGAIN_S_MAX = 0.1, 1.0
_ANSWER_BYTES_MAX = 10_000


class FileReady:
    """Whether a process touches `path`, which it does once its loop turns. A file of an earlier run is removed."""

    def __init__(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        self._path = path

    def __call__(self) -> bool:
        """Return whether the file is there."""
        return self._path.exists()


class HttpReady:
    """Requests `path` until the answer is 200. Each call returns quickly: it only checks whether the answer has come.

    A request is never given up while the server has it. Otherwise a busy server would work on a request that no client
    reads, and on the next one as well. It connects directly and uses no proxy of the environment.
    """

    def __init__(self, host: str, port: int, path: str = "/readyz") -> None:
        self._address, self._path = (host, port), path
        self._socket: socket.socket | None = None
        self._answer = b""
        self._pause_s, self._ask_at = _AGAIN_S_MIN, 0.0
        self.last = ""
        """The beginning of the server's last answer, if that was not 200."""

    def __call__(self) -> bool:
        """Return whether the server has answered 200."""
        if time.monotonic() < self._ask_at:
            return False
        try:
            if self._socket is None:
                self._ask()
            if not self._has_answered():
                return False
        except OSError:
            self._end()
            return False
        answer = self._answer
        self._end()
        head, _, body = answer.partition(b"\r\n\r\n")
        if head.split(b" ")[1:2] == [b"200"]:
            self.last, self._pause_s, self._ask_at = "", _AGAIN_S_MIN, 0.0
            return True
        self.last = body.decode(errors="replace").strip()[:1000]
        return False

    def _ask(self) -> None:
        self._socket = socket.create_connection(self._address, timeout=_CONNECT_S_MAX)
        host = f"[{self._address[0]}]" if ":" in self._address[0] else self._address[0]
        head = f"GET {self._path} HTTP/1.1\r\nHost: {host}:{self._address[1]}\r\nConnection: close\r\n\r\n"
        self._socket.sendall(head.encode())
        self._socket.setblocking(False)

    def _has_answered(self) -> bool:
        """Return whether the whole answer has arrived. Raises OSError if the connection broke."""
        assert self._socket is not None
        while len(self._answer) < _ANSWER_BYTES_MAX:
            try:
                part = self._socket.recv(_ANSWER_BYTES_MAX)
            except BlockingIOError:
                return False
            if not part:
                break
            self._answer += part
        if not self._answer:
            raise ConnectionResetError
        return True

    def _end(self) -> None:
        """Drop the connection. The next call after a pause sends a new request."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._answer = None, b""
        self._ask_at = time.monotonic() + self._pause_s
        self._pause_s = min(2 * self._pause_s, _AGAIN_S_MAX)

    def __del__(self) -> None:
        if self._socket is not None:
            self._socket.close()
