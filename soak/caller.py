"""Send REST calls, record the calls, and send each call again with the same key until the platform answers."""

from __future__ import annotations

import random
import re
import threading
import uuid
from collections.abc import Sequence
from typing import Any

import httpx

from soak.history import Attempt, Recorder

_TIMEOUT_S = 10.0
_AGAIN = frozenset({429, 500, 502, 503, 504})
"""HTTP statuses that do not say whether the operation was carried out."""


class Caller:
    """One client of the platform. It gives up an operation, with an unknown outcome, only after `over` is set."""

    def __init__(self, urls: Sequence[str], token: str, name: str, recorder: Recorder, over: threading.Event) -> None:
        """Take the addresses of the platform's APIs: each attempt goes to any of them, as over a load balancer."""
        self.name, self._urls, self._recorder, self._over = name, urls, recorder, over
        self._http = httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=_TIMEOUT_S, trust_env=False)
        self._random = random.Random(name)

    def read(self, what: str, path: str) -> Attempt | None:
        """Send a GET and return the answer; None if no answer came."""
        return self._send(what, "GET", path, key=None, generation=None, body=None)

    def write(
        self,
        what: str,
        method: str,
        path: str,
        body: Any = None,
        *,
        generation: int | None = None,
        key: str | None = None,
        files: Any = None,
        csv: str | None = None,
    ) -> Attempt | None:
        """Send a change and return the answer; None if its outcome is unknown.

        key    None: a new key; "": no key, for a route that takes none
        csv    the body, instead of JSON
        """
        if key is None:
            key = f"{self.name}-{uuid.UUID(int=self._random.getrandbits(128))}"
        given = {"files": files} if csv is None else {"content": csv}
        return self._send(what, method, path, key=key or None, generation=generation, body=body or csv, **given)

    def _send(
        self, what: str, method: str, path: str, *, key: str | None, generation: int | None, body: Any, **given: Any
    ) -> Attempt | None:
        op = self._recorder.new_op()
        headers = {} if key is None else {"Idempotency-Key": key}
        if generation is not None:
            headers["If-Match"] = f'"{generation}"'
        if "content" in given:
            headers["Content-Type"] = "text/csv"
        else:
            given["json"] = body
        about: dict[str, Any] = {"client": self.name, "what": what, "method": method, "path": path}
        about |= {"key": key, "generation": generation, "body": body}
        number, pause_s = 0, 0.05
        while True:
            attempt = self._attempt(op, number, about, headers, given)
            if attempt is not None and attempt.status not in _AGAIN:
                return attempt
            number += 1
            pause_s = min(2 * pause_s, 1.0)
            if self._over.wait(pause_s * self._random.uniform(0.5, 1.0)):
                return None

    def _attempt(
        self, op: int, number: int, about: dict[str, Any], headers: dict[str, str], given: dict[str, Any]
    ) -> Attempt | None:
        self._recorder.write("call", op=op, attempt=number, **about)
        url = self._urls[0] if len(self._urls) == 1 else self._random.choice(self._urls)
        try:
            response = self._http.request(about["method"], url + about["path"], headers=headers, **given)
            content = response.json() if "json" in response.headers.get("content-type", "") else None
        except (httpx.TransportError, ValueError) as error:  # ValueError: the answer is cut short
            self._recorder.write("lost", op=op, attempt=number, error=f"{type(error).__name__}: {error}"[:200])
            return None
        if isinstance(content, dict):
            content.pop("secret", None)  # the secret of a token must not be recorded
        found = re.fullmatch(r'"(\d+)"', response.headers.get("ETag", ""))
        generation = None if found is None else int(found[1])
        replayed = response.headers.get("Idempotency-Replayed") == "true"
        said = {"status": response.status_code, "generation": generation, "replayed": replayed, "body": content}
        self._recorder.write("answer", op=op, attempt=number, **said)
        return Attempt(began_s=0.0, **said)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()
