"""What the two forms of OTLP share: a request is resources of scopes of spans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from libs.interchange.decoded import TooLarge
from libs.interchange.traces.intake import Intake, Rows

ATTRIBUTES_MAX = 1_000
"""Of one span: the SDKs keep 128. What has more is no span."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Spans of one service, and where in their request they are. `spans` is None where it cannot be read."""

    where: str
    service: str
    spans: Any


@dataclass(frozen=True, slots=True)
class OtlpForm:
    """How a form of OTLP is read.

    parse   the body of an export -> the request; raises ValueError, where it is none, and TooLarge
    scopes  its scopes, in order; raises TooLarge
    add     append spans of one service, whose number and entry points are given; what is no span counts as malformed
    """

    parse: Callable[[bytes], Any]
    scopes: Callable[[Any], Iterator[Scope]]
    add: Callable[[Any, int, Mapping[str, int], Intake, Rows], None]

    def add_scope(self, scope: Scope, intake: Intake, rows: Rows) -> None:
        """Append the spans of a scope. Raises: TooManyServicesError."""
        if scope.spans is None:
            intake.malformed += 1
            return
        self.add(scope.spans, intake.service(scope.service), intake.operations(scope.service), intake, rows)

    def add_request(self, content: bytes, intake: Intake, rows: Rows) -> None:
        """Append the spans of one request of a file. What is no request counts as one malformed thing.

        Raises: TooLarge; TooManyServicesError.
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
