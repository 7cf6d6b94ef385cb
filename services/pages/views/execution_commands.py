"""Commands about an execution: the buttons with what the API says of each, and the command that a form gives."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from libs.domain.plan_execution import DECIDES_ON_SIZES
from libs.domain.principal import Role
from services.pages.api import ApiProblem, Json
from services.pages.parts.words import number, spaced
from services.pages.visit import Visit

_OTHER_LEVEL = frozenset({"NotForAPlan", "ForAPlanOnly", "ForOneAction"})
"""Codes of commands that are never about this level. The page leaves them out."""
_DANGER = frozenset({"abort", "reverse", "reject", "skip", "supersede"})
_WITH_KIND = frozenset({"reject", "edit"})


@dataclass(frozen=True, slots=True)
class Button:
    """A command: its verb, its words, what it would change, and why it cannot work; "": it can."""

    verb: str
    words: str
    note: str
    why_not: str
    danger: bool


@dataclass(frozen=True, slots=True)
class Panel:
    """The commands about one subject.

    level, subject   as the API names them
    why_not          sentences: the commands that cannot work for a reason, and the reason
    may_not          why this person may give none; "": they may
    sized, kinded    whether a command of it takes a size, or the kind of a reason
    generation       of the sizes that the page shows
    """

    level: str
    subject: str
    title: str
    buttons: Sequence[Button]
    why_not: Sequence[tuple[str, str]]
    may_not: str
    sized: bool
    kinded: bool
    generation: int


def load_panel(visit: Visit, path: str, level: str, subject: str, title: str) -> Panel:
    """Return the commands about the execution, a phase or an action, with the answers that they would get now."""
    answers = visit.api.get(f"{path}/command-answers", level=level, subject=subject)
    buttons = [_button(one) for one in answers["items"] if one["code"] not in _OTHER_LEVEL]
    refused: dict[str, list[str]] = {}
    for one in buttons:
        if one.why_not:
            refused.setdefault(one.why_not, []).append(one.words)
    offered = {one.verb for one in buttons if not one.why_not}
    return Panel(
        level=level,
        subject=subject,
        title=title,
        buttons=buttons,
        why_not=[(", ".join(words), f"{why}.") for why, words in refused.items()],
        may_not="" if visit.may(Role.OPERATOR) else "Operators give commands. You have another role.",
        sized="edit" in offered,
        kinded=level == "action" and bool(offered & _WITH_KIND),
        generation=answers["generation"],
    )


def _button(answer: Json) -> Button:
    return Button(
        verb=answer["verb"],
        words=spaced(answer["verb"]),
        note=_note(answer),
        why_not="" if answer["possible"] else str(answer["message"]),
        danger=answer["verb"] in _DANGER,
    )


def _note(answer: Json) -> str:
    if answer["others"]:
        every = number(answer["actions"] + answer["others"])
        return f"{number(answer['actions'])} of {every} actions: another person must give it for the others"
    return f"{number(answer['actions'])} actions" if answer["actions"] > 1 else ""


def give(visit: Visit, path: str) -> str:
    """Give the command of the form. Return why it was refused; "" if it took effect. Raises ApiProblem for a 401."""
    form = visit.form
    verb, level, subject = form.get("verb", ""), form.get("level", ""), form.get("subject", "")
    body: Json = {"verb": verb, "level": level, "reason": form.get("reason", "").strip()}
    if subject:
        body["subject"] = subject
    if verb == "edit":
        body["size"] = _number(form.get("size", ""))
    if verb in _WITH_KIND and form.get("kind"):
        body["reject_kind"] = form["kind"]
    read = form.get("generation", "")
    generation = None
    if verb in DECIDES_ON_SIZES:  # a form without it is none of these pages, and gets an answer that says so
        generation = int(read) if re.fullmatch("[0-9]{1,18}", read) else 0
    try:
        visit.api.send("POST", f"{path}/commands", body, generation=generation)
    except ApiProblem as problem:
        if problem.status == 401:
            raise
        return f"{spaced(verb)} was refused. {' '.join([problem.detail, *problem.fields.values()])}"
    return ""


def _number(text: str) -> float | str | None:
    """Return a number; a text that is none as it is, so that the API names what is wrong with it."""
    try:
        value = float(text) if text.strip() else None
    except ValueError:
        return text
    return value if value is None or math.isfinite(value) else text  # JSON has no nan and no inf
