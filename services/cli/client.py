"""Call the REST interface for the commands."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import httpx

from services.cli.connection import find_connection
from services.cli.failure import CliFailure
from services.cli.noun import Noun
from services.cli.output import note

Json = dict[str, Any]
_PATIENCE_S_MAX = 30.0
"""Most seconds of retries while the platform restarts, and the longest Retry-After that a command obeys."""
_SILENT_S = 0.5
"""Shortest pause, in seconds, that a command announces."""
_ASKED_TOO_MUCH, _UNAVAILABLE = 429, 503
_PLACES = tuple(f"There is no {scope} " for scope in ("rack", "msb", "datacenter"))


class Client:
    """A client of one platform. Every write carries an idempotency key, so it can be repeated after a broken
    connection.

    token   or what gets one for each request: a login is renewed while a long command runs
    """

    def __init__(self, url: str, token: str | Callable[[], str], *, timeout_s: float = 60.0) -> None:
        def sign(request: httpx.Request) -> httpx.Request:
            request.headers["Authorization"] = f"Bearer {token() if callable(token) else token}"
            return request

        self._http = httpx.Client(base_url=url, auth=sign, timeout=timeout_s, trust_env=False)

    @classmethod
    def connect(cls) -> Client:
        """Return a client of the platform that the environment names."""
        return cls(*find_connection())

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(self, path: str, **query: object) -> Json:
        """Return the document at `path`."""
        # None and not {}: an empty dict would remove the query that is part of the path.
        answer: Json = self._send("GET", path, params=_given(query) or None).json()
        return answer

    def download(self, path: str, *, accept: str | None = None, **query: object) -> bytes:
        """Return the content of the file at `path`, in the media type `accept` if it is given."""
        headers = None if accept is None else {"Accept": accept}
        return self._send("GET", path, headers=headers, params=_given(query) or None).content

    def items(self, path: str, **query: object) -> Iterator[Json]:
        """Yield every item of a list, page by page."""
        cursor: str | None = None
        while True:
            page = self.get(path, cursor=cursor, **query)
            yield from page["items"]
            cursor = page.get("next_cursor")
            if cursor is None:
                return

    def post(
        self,
        path: str,
        body: object = None,
        *,
        files: object = None,
        timeout_s: float | None = None,
        generation: int | None = None,
        **query: object,
    ) -> Json:
        """Send a POST request, and return the answer. If `generation` is given, it fails unless the object is at that
        generation.
        """
        request: dict[str, Any] = {"json": body, "files": files, "timeout": timeout_s, "params": _given(query) or None}
        answer: Json = self._send("POST", path, generation=generation, **request).json()
        return answer

    def post_content(self, path: str, content: bytes, media_type: str, *, timeout_s: float, **query: object) -> Json:
        """Send the content of a file in a POST request, and return the answer."""
        request: dict[str, Any] = {
            "content": content,
            "headers": {"Content-Type": media_type},
            "timeout": timeout_s,
            "params": _given(query) or None,
        }
        answer: Json = self._send("POST", path, **request).json()
        return answer

    def patch(self, path: str, body: object, *, generation: int | None = None) -> Json:
        """Send a PATCH request, and return the answer. It fails unless the object is at `generation`."""
        answer: Json = self._send("PATCH", path, json=body, generation=generation).json()
        return answer

    def put(self, path: str, body: object, *, generation: int) -> Json:
        """Send a PUT request, and return the answer. It fails unless the object is at `generation`."""
        answer: Json = self._send("PUT", path, json=body, generation=generation).json()
        return answer

    def put_content(self, path: str, content: bytes, media_type: str, *, generation: int, **query: object) -> Json:
        """Send the content of a file in a PUT request, and return the answer. It fails unless the object is at
        `generation`.
        """
        request: dict[str, Any] = {
            "content": content,
            "headers": {"Content-Type": media_type},
            "params": _given(query) or None,
        }
        answer: Json = self._send("PUT", path, generation=generation, **request).json()
        return answer

    def delete(self, path: str, *, generation: int | None = None, **query: object) -> Json | None:
        """Send a DELETE request. It fails unless the object is at `generation`."""
        response = self._send("DELETE", path, generation=generation, params=_given(query) or None)
        return response.json() if response.content else None

    def wait(self, path: str, done: Callable[[Json], bool], *, s_max: float, each: Callable[[Json], None]) -> Json:
        """Poll a document until `done` is true for it, for at most `s_max` seconds. Pass each answer to `each`. Return
        the last.
        """
        deadline = time.monotonic() + s_max
        pause_s = 0.05
        while True:
            document = self.get(path)
            each(document)
            if done(document) or time.monotonic() > deadline:
                return document
            time.sleep(pause_s)
            pause_s = min(1.0, pause_s * 1.5)

    def _send(
        self,
        method: str,
        path: str,
        *,
        generation: int | None = None,
        headers: Mapping[str, str] | None = None,
        **request: Any,
    ) -> httpx.Response:
        headers = dict(headers or {})
        if method != "GET":
            headers["Idempotency-Key"] = str(uuid.uuid4())
        if generation is not None:
            headers["If-Match"] = f'"{generation}"'
        request = {name: value for name, value in request.items() if value is not None}
        try:
            response = self._persist(lambda: self._http.request(method, path, headers=headers, **request))
        except ValueError as error:  # of JSON, which has no nan and no inf
            wrong = "; ".join(f"{field} is {value}" for field, value in _not_finite(request.get("json"))) or error
            raise CliFailure(f"this cannot be sent: {wrong}: write a finite number") from error
        if response.is_error:
            raise ApiProblem(response)
        return response

    def _persist(self, ask: Callable[[], httpx.Response]) -> httpx.Response:
        """Send a request until the answer is other than "not now". The idempotency key makes that safe for writes too.

        Raises CliFailure if no answer comes within _PATIENCE_S_MAX seconds.
        """
        deadline = time.monotonic() + _PATIENCE_S_MAX
        pause_s, said = 0.2, False
        while True:
            wait_s = pause_s
            try:
                response = ask()
                if response.status_code not in (_ASKED_TOO_MUCH, _UNAVAILABLE):
                    return response
                if response.status_code == _ASKED_TOO_MUCH:
                    wait_s = float(response.headers.get("Retry-After", "1"))
                if time.monotonic() + wait_s > deadline:
                    return response
            except httpx.TransportError as error:
                if time.monotonic() + wait_s > deadline:
                    raise CliFailure(
                        f"{self._http.base_url} did not answer for {_PATIENCE_S_MAX:g} s ({error}). Is the platform "
                        "running? `plimsoll up` starts one here."
                    ) from error
            if not said and pause_s > _SILENT_S and wait_s == pause_s:
                note(f"The platform does not answer yet; trying again for up to {_PATIENCE_S_MAX:g} s.")
                said = True
            time.sleep(wait_s)
            pause_s = min(2 * pause_s, 2.0)


class ApiProblem(CliFailure):
    """A problem document: its sentence, and the wrong fields. `said` is the sentence alone.

    options   field -> what the person gave for it; another field keeps its name
    """

    def __init__(self, response: httpx.Response, options: Mapping[str, str] = MappingProxyType({})) -> None:
        problem = _problem(response)
        self.response = response
        self.code = str(problem.get("code", response.status_code))
        wrong = [f"  {options.get(error['field'], error['field'])}: {error['message']}" for error in problem["errors"]]
        fields = [*dict.fromkeys(wrong)]  # one option may fill several fields
        said = problem["title"] if fields else problem.get("detail") or problem["title"]
        self.said = str(said)
        super().__init__("\n".join([f"{said}{_where_to_look(self.code, said)} ({self.code})", *fields]))


@contextmanager
def named_by_options(options: Mapping[str, str]) -> Iterator[None]:
    """Name the wrong fields of a request by what the person gave: field -> option. Others keep their names."""
    try:
        yield
    except ApiProblem as problem:
        raise ApiProblem(problem.response, options) from None


def _where_to_look(code: str, detail: str) -> str:
    """Return a hint with the command that lists the objects of a noun, if the object was not found."""
    if code != "not_found":
        return ""
    for noun in Noun:
        if detail.startswith(f"There is no {noun.removesuffix('s').replace('-', ' ')} "):
            return f" `plimsoll get {noun}` lists them."
    if detail.startswith(_PLACES):
        return " `plimsoll get servers` shows the place of each one."
    return ""


def _problem(response: httpx.Response) -> Mapping[str, Any]:
    if "json" in response.headers.get("content-type", ""):
        document: Mapping[str, Any] = response.json()
        return {"errors": [], **document}
    return {"title": f"the platform answered {response.status_code}: {response.text[:200]}", "errors": []}


def _not_finite(part: object, field: str = "") -> Iterator[tuple[str, float]]:
    """Yield the path and the value of each number of a body that JSON does not have: nan, inf and -inf."""
    if isinstance(part, float) and not math.isfinite(part):
        yield field, part
    inner = part.items() if isinstance(part, Mapping) else enumerate(part) if isinstance(part, list) else ()
    for name, value in inner:
        yield from _not_finite(value, f"{field}.{name}" if field else str(name))


def _given(query: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in query.items() if value is not None}
