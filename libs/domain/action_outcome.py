"""Requests to the systems that carry out the actions of a plan, and their answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from libs.domain.execution_plan import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRequest:
    """One request about an action in flight.

    key          `execution/action/attempt`: requests with the same key are the same request
    fraction     of a shift: the share of its traffic that shall have moved, from 0 (all is back) to 1; else 1
    size         of a resize: the capacity that it leads to, in units of the hardware type
    requested_s  seconds since 1970 on the Clock of the first request with this key
    """

    key: str
    action: Action
    fraction: float
    size: float
    requested_s: float


class Outcome(StrEnum):
    """State of a request, as the system tells it."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """No answer, or one that says nothing about the request. The same request is sent again."""
    NOT_ASKED = "not_asked"
    """There was no time for the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer of a system, and when to ask again at the earliest; None: at the next tick."""

    outcome: Outcome
    message: str | None = None
    ask_again_s: float | None = None
