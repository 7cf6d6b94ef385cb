"""Judge the figures of a solve by the history of its region (docs/designs/0053). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from libs.domain.policy_rollout import Finding

SOLVES_MOST, SOLVES_LEAST = 24, 3
"""Number of solves that make a history: the latest ones, and the fewest."""
MARGIN = 0.25
"""The share of the highest figure of the history by which a figure may exceed it."""
SHORTFALL_MARGIN = 0.001
"""The least margin of a shortfall, as a share of the region's capacity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveFigures:
    """The figures of a solve that do not depend on prices.

    solve_s             seconds
    peak_mib            the largest resident memory of the process
    moved_in_use        servers in use that leave their reservation: preemptions
    moved_idle          idle servers that leave their reservation
    shortfall_rru       RRU that reservations lack in total
    reservations_short  number of reservations that lack RRU
    """

    solve_s: float
    peak_mib: float
    moved_in_use: float
    moved_idle: float
    shortfall_rru: float
    reservations_short: float

    @classmethod
    def of_report(cls, report: Mapping[str, Any]) -> SolveFigures:
        """Return the figures in a report of a solve, as JSON."""
        found = {"solve_s": report["solve_s"], "peak_mib": report["peak_mib"], **report["terms"]}
        return cls(**{field.name: float(found[field.name]) for field in fields(cls)})


_WORDS = {
    "solve_s": "seconds",
    "peak_mib": "MiB of memory",
    "moved_in_use": "preemptions",
    "moved_idle": "moves of idle servers",
    "shortfall_rru": "RRU short",
    "reservations_short": "reservations short",
}
_LEAST = {"solve_s": 10.0, "peak_mib": 256.0, "moved_in_use": 5.0, "moved_idle": 20.0, "reservations_short": 0.0}


def judge_figures(
    figures: SolveFigures, history: Sequence[SolveFigures], *, capacity_rru: float, of: str
) -> tuple[Finding, ...]:
    """Return a finding for each figure above the history, or one finding if there is too little history.

    A figure is above if it exceeds the highest of the history by more than a margin. The margin is a quarter of the
    highest, or the figure's least margin if that is more.

    capacity_rru  the capacity that the region's reservations ask for
    of            the solve, in words
    """
    if len(history) < SOLVES_LEAST:
        message = f"{len(history)} solves are no history to judge {of} by; it takes {SOLVES_LEAST}"
        return (Finding(reason="TooLittleHistory", message=message, numbers={"solves": float(len(history))}),)
    found = []
    for name, words in _WORDS.items():
        highest, figure = max(getattr(one, name) for one in history), getattr(figures, name)
        most = highest + max(MARGIN * highest, _LEAST.get(name, SHORTFALL_MARGIN * capacity_rru))
        if figure > most:
            message = f"{of} has {figure:,.4g} {words}, and the last {len(history)} solves at most {highest:,.4g}"
            numbers = {name: figure, f"{name}_highest": highest, f"{name}_most": most}
            found.append(Finding(reason="OutsideHistory", message=message, numbers=numbers))
    return tuple(found)
