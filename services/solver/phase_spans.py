"""Turn a solve's reports of progress into one trace span per phase."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Self

from libs.observability.traces import span


class PhaseSpans:
    """The trace spans of a solve, one per phase. Use it as a context around the solve, and call it with each report."""

    def __init__(self) -> None:
        self._phase = ""
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.__exit__(kind, error, at)

    def enter(self, phase: str) -> None:
        """Record that the solve is in this phase now. Do nothing if the phase has not changed."""
        if phase != self._phase:
            self._open.close()
            self._open.enter_context(span(f"solve {phase}"))
            self._phase = phase
