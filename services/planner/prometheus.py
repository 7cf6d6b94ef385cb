"""Send range queries to Prometheus, and explain its refusals."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import orjson

from libs.reconcile.call_retries import PULLS, Retries
from libs.reconcile.outgoing import trusted_by

ANSWER_BYTES_MAX = 256 << 20
_MESSAGE_LENGTH_MAX = 500


class PrometheusError(Exception):
    """Prometheus gave no usable answer. The message is for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One series of an answer: its labels, and its samples as pairs (seconds since 1970, value as text)."""

    labels: Mapping[str, str]
    samples: Sequence[tuple[float, str]]


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A client of one server with the API of Prometheus (also Thanos, Mimir, VictoriaMetrics).

    token     sent with every query; None: none
    ca        PEM file of trusted certificate authorities; None: the usual ones
    retries   how to repeat an unanswered query
    """

    url: str
    token: str | None = None
    ca: Path | None = None
    retries: Retries = PULLS
    _client: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        # Follow no redirect: the token may go only to the host in our settings. For the same reason use no proxy of the
        # environment.
        timeout_s, trusted = self.retries.timeout_s, trusted_by(self.ca)
        client = httpx.Client(headers=headers, timeout=timeout_s, trust_env=False, verify=trusted)
        object.__setattr__(self, "_client", client)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def query_range(self, query: str, start: datetime, end: datetime, step_s: int) -> list[Series]:
        """Return samples from start to end, both included. Raises PrometheusError."""
        form = {"query": query, "start": start.timestamp(), "end": end.timestamp(), "step": step_s}
        return _matrix(self._ask(form))

    def _ask(self, form: Mapping[str, Any]) -> bytes:
        said = ""
        for failures in range(self.retries.attempts_max):
            if failures:
                time.sleep(self.retries.backoff.wait_s(failures))
            try:
                with self._client.stream("POST", f"{self.url.rstrip('/')}/api/v1/query_range", data=form) as response:
                    content = _read(response)
            except httpx.HTTPError as error:
                said = f"{self.url} does not answer: {error or type(error).__name__}"
                continue
            if response.status_code == 200:
                return content
            said = f"{self.url} answered {response.status_code}: {_error_of(content)}"
            if response.status_code != 429 and response.status_code < 500:
                break  # the same query would fail again
        raise PrometheusError(said[:_MESSAGE_LENGTH_MAX])


def _read(response: httpx.Response) -> bytes:
    content = bytearray()
    for part in response.iter_bytes():
        content += part
        if len(content) > ANSWER_BYTES_MAX:
            raise PrometheusError(f"an answer is longer than {ANSWER_BYTES_MAX >> 20} MiB: ask for fewer series")
    return bytes(content)


def _matrix(content: bytes) -> list[Series]:
    try:
        data = orjson.loads(content)["data"]
        if data["resultType"] != "matrix":
            raise PrometheusError(f"the expression gives a {data['resultType']}, not series of samples")
        return [
            Series(labels=one["metric"], samples=[(float(at), str(value)) for at, value in one["values"]])
            for one in data["result"]
        ]
    except (ValueError, LookupError, TypeError) as error:
        raise PrometheusError("the answer is not one of Prometheus") from error


def _error_of(content: bytes) -> str:
    try:
        document = orjson.loads(content)
        return f"{document['errorType']}: {document['error']}"
    except (ValueError, LookupError, TypeError):
        return content[:200].decode(errors="replace")
