"""The common part of OTLP in JSON and in protobuf: a request holds resources, these scopes, and these spans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from libs.interchange.files.decoded import TooLarge
from libs.interchange.traces.intake import Intake, Rows

ATTRIBUTES_MAX = 1_000
"""Largest number of attributes of a span. The SDKs keep 128. A span with more counts as malformed."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Spans of one service, and their place in the request. `spans` is None if they cannot be read."""

    where: str
    service: str
    spans: Any


@dataclass(frozen=True, slots=True)
class OtlpForm:
    """The functions that read one form of OTLP.

    parse   return the request of an export's body; raises ValueError if it is not a request, and TooLarge
    scopes  yield its scopes, in order; raises TooLarge
    add     append spans of one service, given its number and entry points; bad spans count as malformed
    """

    parse: Callable[[bytes], Any]
    scopes: Callable[[Any], Iterator[Scope]]
    add: Callable[[Any, int, Mapping[str, int], Intake, Rows], None]

    def add_scope(self, scope: Scope, intake: Intake, rows: Rows) -> None:
        """Append the spans of a scope. Raises TooManyServicesError."""
        if scope.spans is None:
            intake.malformed += 1
            return
        self.add(scope.spans, intake.service(scope.service), intake.operations(scope.service), intake, rows)

    def add_request(self, content: bytes, intake: Intake, rows: Rows) -> None:
        """Append the spans of one request of a file. A part that is not a request counts as one malformed item.

        Raises TooLarge or TooManyServicesError.
        """
        try:
            request = self.parse(content)
        except TooLarge:
            raise
        except ValueError:
            intake.malformed += 1
            return
        for scope in self.scopes(request):
            self.add_scope(scope, intake, rows)
