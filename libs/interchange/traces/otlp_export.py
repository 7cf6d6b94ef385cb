"""Read one OTLP export as arrays. Accept good spans, and name bad parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from libs.domain.spans import Spans
from libs.interchange.traces.intake import Intake, Rows
from libs.interchange.traces.otlp_form import OtlpForm, Scope

NAMED_MAX = 3
"""Largest number of bad parts that are named. The others are only counted."""
WANTED = "a span needs a traceId of 16 bytes, a spanId of 8, a kind of the protocol, and a start and an end"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Export:
    """The content of an export, and its bad parts.

    services   the names that the spans' numbers stand for
    malformed  number of items that are not spans
    bad        places of the first bad parts
    """

    spans: Spans
    services: tuple[str, ...]
    malformed: int
    bad: tuple[str, ...]


def read_export(form: OtlpForm, content: bytes, intake: Intake) -> Export:
    """Read the body of one export. `intake` knows the entry points, and no service yet.

    Raises ValueError if the body cannot be decoded at all, and TooManyServicesError.
    """
    request = form.parse(content)
    rows = Rows(intake)
    for scope in form.scopes(request):
        form.add_scope(scope, intake, rows)
    spans = rows.spans()
    return Export(
        spans=spans,
        services=tuple(intake.services),
        malformed=intake.malformed,
        bad=_bad_parts(form, request, intake) if intake.malformed else (),
    )


def _bad_parts(form: OtlpForm, request: Any, intake: Intake) -> tuple[str, ...]:
    found: list[str] = []
    for scope in form.scopes(request):
        if scope.spans is None:
            found.append(scope.where)
        elif _malformed(form, scope, scope.spans, intake):
            found.append(f"{scope.where}.spans[{_first_bad(form, scope, intake)}]")
        if len(found) == NAMED_MAX:
            break
    return tuple(found)


def _first_bad(form: OtlpForm, scope: Scope, intake: Intake) -> int:
    """Return the index of the first bad span. Bisection finds it for the cost of reading the scope twice."""
    first, end = 0, len(scope.spans)
    while end - first > 1:
        middle = (first + end) // 2
        if _malformed(form, scope, scope.spans[first:middle], intake):
            end = middle
        else:
            first = middle
    return first


def _malformed(form: OtlpForm, scope: Scope, spans: Sequence[Any], intake: Intake) -> int:
    trial = intake.afresh()
    rows = Rows(trial)
    form.add_scope(Scope(scope.where, scope.service, spans), trial, rows)
    rows.spans()
    return trial.malformed
