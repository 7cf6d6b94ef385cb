"""Whether a server answers: one question at a time, waited for as long as it takes."""

from __future__ import annotations

import socket
import time

_CONNECT_S_MAX = 1.0
_AGAIN_S_MIN, _AGAIN_S_MAX = 0.1, 1.0
_ANSWER_BYTES_MAX = 10_000


class HttpReady:
    """Asks for `path` until the answer is 200. Each call takes a moment: it looks whether the answer has come.

    A question is never given up while the server has it: a busy server would work on the one that nobody reads
    and on the next one as well. Asks directly: no proxy of the environment is used.
    """

    def __init__(self, host: str, port: int, path: str = "/readyz") -> None:
        self._address, self._path = (host, port), path
        self._socket: socket.socket | None = None
        self._answer = b""
        self._pause_s, self._ask_at = _AGAIN_S_MIN, 0.0
        self.last = ""
        """What the server said last, where it was not 200: the beginning of its answer."""

    def __call__(self) -> bool:
        """Whether the server has answered 200."""
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
        """Whether the whole answer is there. Raises OSError where the connection broke."""
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
        """Drop the connection; the next question comes after a pause."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._answer = None, b""
        self._ask_at = time.monotonic() + self._pause_s
        self._pause_s = min(2 * self._pause_s, _AGAIN_S_MAX)

    def __del__(self) -> None:
        if self._socket is not None:
            self._socket.close()
