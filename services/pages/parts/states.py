"""States of executions and actions as people read them: the kind of their badge, their colour, and their words."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

_ACTIONS: Mapping[str, tuple[str, str, str]] = {
    "awaiting_approval": ("warn", "f2", "waits for approval"),
    "waiting": ("", "f0", "waits"),
    "running": ("info", "f1", "runs"),
    "baking": ("info", "f1", "bakes"),
    "held": ("bad", "f5", "held"),
    "reversing": ("warn", "f2", "goes back"),
    "failed": ("bad", "f5", "failed"),
    "reversed": ("warn", "f2", "went back"),
    "taken_over": ("warn", "f4", "taken over"),
    "done": ("good", "f3", "done"),
    "skipped": ("", "f6", "skipped"),
}
_EXECUTIONS: Mapping[str, str] = {
    "draft": "",
    "running": "info",
    "pausing": "warn",
    "paused": "warn",
    "aborting": "warn",
    "reversing": "warn",
    "superseding": "warn",
    "done": "good",
    "reversed": "",
    "aborted": "bad",
    "superseded": "",
}
_WORST_FIRST = (
    *("failed", "held", "taken_over", "reversing", "reversed", "awaiting_approval"),
    *("running", "baking", "waiting", "done", "skipped"),
)
STATES = tuple(_ACTIONS)
LEGEND = (
    ("f3", "done"),
    ("f1", "runs or bakes"),
    ("f2", "waits for approval, or goes back"),
    ("f5", "held or failed"),
    ("f4", "taken over by a person"),
    ("f0", "waits"),
    ("expected", "expected"),
    ("f6", "skipped"),
)
"""Colours with their words."""


def words_of(state: str) -> str:
    """Return the state of an action in words."""
    return _ACTIONS[state][2]


def colour_of(states: Mapping[str, int]) -> str:
    """Return the colour of some actions: that of the state which needs most attention."""
    worst = next((state for state in _WORST_FIRST if states.get(state)), "waiting")
    return _ACTIONS[worst][1]


def action_badge(state: str, *, paused: bool = False) -> Markup:
    """Return the badge of the state of an action."""
    kind, _, words = _ACTIONS[state]
    badge = Markup('<span class="badge {}">{}</span>').format(kind, words.capitalize())
    return badge + Markup(' <span class="badge warn">Paused</span>') if paused else badge


def execution_badge(state: str) -> Markup:
    """Return the badge of the state of an execution."""
    return Markup('<span class="badge {}">{}</span>').format(_EXECUTIONS[state], state.capitalize())
