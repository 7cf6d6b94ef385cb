"""Judge the figures of a run: whether the promises were kept, and enough happened to say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from libs.domain.plan import SolveStatus

_ASKED = ("moved", "there")
"""The measures whose least ratio must be 1."""


def faults_of(figures: Mapping[str, Any]) -> list[str]:
    """Return why the run failed, a sentence for each fault; empty if it passed.

    A platform that does nothing breaks no promise that is in force. So a run fails too if its jobs raised errors, and
    if no server joined, no solve succeeded or no promise was ever kept.
    """
    found = []
    for name in _ASKED:
        least = figures["least"][name]
        if least["below_s"] or least["reservations_below"]:
            found.append(f"{least['reservations_below']} reservations were below their promise by {name}.")
    if figures["wrong_steps"]:
        found.append(f"Servers joined that may not: {figures['wrong_steps'][0]}.")
    if figures["jobs_raised"]:
        found.append(f"Jobs raised errors: {dict(figures['jobs_raised'])}.")
    if figures["jobs_failed"]:
        found.append(f"Jobs failed for good: {dict(figures['jobs_failed'])}.")
    if not any(figures["solve_runs"].get(status.value) for status in (SolveStatus.COMMITTED, SolveStatus.UNCHANGED)):
        found.append("No solve succeeded.")
    if not figures["joined"]:
        found.append("No server joined a reservation.")
    if figures["never_kept"] >= figures["reservations"]:
        found.append("No promise was ever kept whole.")
    return found
