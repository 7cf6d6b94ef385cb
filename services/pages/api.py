"""The REST API as a person's browser session sees it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from libs.domain.page import ITEMS_MAX

Json = dict[str, Any]


class ApiProblem(Exception):
    """An error that the API answered.

    status, code   of the problem document
    fields         path of a field -> what is wrong with it
    way            the address and the label of a page that says more; None: there is none
    """

    def __init__(self, status: int, document: Mapping[str, Any], *, way: tuple[str, str] | None = None) -> None:
        self.status, self.way = status, way
        self.code = str(document.get("code", status))
        self.title = str(document.get("title", f"The platform answered {status}"))
        self.detail = str(document.get("detail") or self.title)
        self.fields = {str(one["field"]): str(one["message"]) for one in document.get("errors", ())}
        super().__init__(self.detail)


class ApiUnreachable(Exception):
    """The API gave no answer."""


@dataclass(frozen=True, slots=True)
class Part:
    """Items of a list of the API, and the cursor from which it goes on; None: the list ends."""

    items: list[Json]
    next_cursor: str | None


class Api:
    """The API with one person's rights. `http` is shared by all persons, and holds no secret."""

    def __init__(self, http: httpx.Client, bearer: str) -> None:
        self._http, self._bearer = http, bearer

    def get(self, path: str, **query: object) -> Json:
        """Return the document at `path`. Raises ApiProblem, ApiUnreachable."""
        answer: Json = self._send("GET", path, query=query).json()
        return answer

    def get_one(self, path: str, identifier: str, *, noun: str, detail: str, region: str | None = None) -> Json:
        """Return the object at `path`/`identifier`, where the identifier is a part of a visitor's URL.

        region   the region that the object must be of; None: it has none

        Raises ApiUnreachable, and ApiProblem: with status 404, "There is no such `noun`" and `detail` if there is none.
        """
        missing = ApiProblem(404, {"title": f"There is no such {noun}", "detail": detail})
        if not identifier.isdecimal():
            raise missing
        try:
            found = self.get(f"{path}/{identifier}")
        except ApiProblem as problem:
            raise missing if problem.status in (404, 422) else problem from problem
        if region is not None and found["region"] != region:
            raise missing
        return found

    def part(self, path: str, *, most: int = ITEMS_MAX, cursor: str | None = None, **query: Any) -> Part:
        """Return the `most` items of a list from a cursor on. Raises ApiProblem, ApiUnreachable."""
        items: list[Json] = []
        while True:
            page = self.get(path, cursor=cursor, limit=min(most - len(items), ITEMS_MAX), **query)
            items += page["items"]
            cursor = page.get("next_cursor")
            if cursor is None or len(items) >= most:
                return Part(items, cursor)

    def rows(self, path: str, **query: object) -> list[Json]:
        """Return the rows of a route that answers a short list without pages. Raises ApiProblem, ApiUnreachable."""
        answer: list[Json] = self._send("GET", path, query=query).json()
        return answer

    def items(self, path: str, *, most: int = ITEMS_MAX, **query: Any) -> list[Json]:
        """Return the first `most` items of a list. Raises ApiProblem, ApiUnreachable."""
        return self.part(path, most=most, **query).items

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        generation: int | None = None,
        key: str | None = None,
        dry_run: bool = False,
        query: Mapping[str, object] | None = None,
    ) -> Json:
        """Send a write, and return the answer; {} if it has no body. Raises ApiProblem, ApiUnreachable.

        generation   fail unless the object is at this generation
        key          idempotency key; None: a new one
        dry_run      only ask what would come of it
        query        further parameters; empty ones are left out
        """
        headers = {"Idempotency-Key": key or str(uuid.uuid4())}
        if generation is not None:
            headers["If-Match"] = f'"{generation}"'
        asked = {**(query or {}), "dry_run": "true" if dry_run else None}
        response = self._send(method, path, query=asked, json=body, headers=headers)
        answer: Json = response.json() if response.content else {}
        return answer

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object],
        json: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        given: dict[str, Any] = {name: value for name, value in query.items() if value not in (None, "")}
        try:
            response = self._http.request(
                method,
                path,
                params=given or None,
                json=json,
                headers={**(headers or {}), "Authorization": f"Bearer {self._bearer}"},
            )
        except httpx.TransportError as error:
            raise ApiUnreachable(str(error)) from error
        if response.is_error:
            is_json = "json" in response.headers.get("content-type", "")
            raise ApiProblem(response.status_code, response.json() if is_json else {})
        return response
