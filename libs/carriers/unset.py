"""The carrier where none is set: it carries out nothing, and says so."""

from __future__ import annotations

from collections.abc import Sequence

from libs.domain.action_outcome import ActionRequest, Answer, Outcome


class NoCarrier:
    """Says which setting is missing."""

    def __init__(self, setting: str) -> None:
        self._setting = setting

    def perform(self, requests: Sequence[ActionRequest]) -> Sequence[Answer]:
        """See Carrier."""
        message = f"nothing carries this out: set {self._setting} for the orchestrator"
        return [Answer(outcome=Outcome.UNKNOWN, message=message)] * len(requests)
