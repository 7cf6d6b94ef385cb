"""The interface of a carrier: a system that carries out actions of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from libs.domain.action_outcome import ActionRequest, Answer


@runtime_checkable
class Carrier(Protocol):
    """Carries out actions, any number at a time.

    The orchestrator asks again on every tick until an action is done or failed, and possibly once more. The system
    recognises a request by its key. A higher attempt at an action replaces the lower ones: it may ask for another
    fraction of a shift, or for none of it. `perform` must return soon: the work continues elsewhere.
    """

    def perform(self, requests: Sequence[ActionRequest]) -> Sequence[Answer]:
        """Begin the requests that are new. Return the answer to each, in the order of `requests`.

        Requests that there was no time for are NOT_ASKED. Never raises for a system that does not answer: that is
        UNKNOWN.
        """
