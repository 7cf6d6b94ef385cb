"""Turn the reply to a call about an action into an answer."""

from __future__ import annotations

from libs.carriers.calls import Reply
from libs.domain.action_outcome import Answer, Outcome

ABOUT_THE_CALL = frozenset({401, 403, 404, 405, 407, 408, 421, 425, 426, 429, 431, 451})
"""4xx codes that are about the call and not the action: a wrong token or address must not make an action fail."""


def answer_of(reply: Reply) -> Answer:
    """Return the answer: 202 runs, another 2xx is done, 4xx has failed. All else says nothing about the action."""
    if reply.status == 202:
        return Answer(outcome=Outcome.RUNNING, message=_said(reply), ask_again_s=reply.again_s)
    if reply.status is not None and 200 <= reply.status < 300:
        return Answer(outcome=Outcome.DONE, message=_said(reply))
    if reply.status is not None and 400 <= reply.status < 500 and reply.status not in ABOUT_THE_CALL:
        return Answer(outcome=Outcome.FAILED, message=reply.message)
    return Answer(outcome=Outcome.UNKNOWN, message=reply.message, ask_again_s=reply.again_s)


def _said(reply: Reply) -> str | None:
    found = reply.document.get("message")
    return found if isinstance(found, str) else None
