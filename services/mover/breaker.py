"""The circuit breaker before an actuator: when to stop asking, and when to try again. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from libs.actuators.actuator import StepOutcome, StepState
from libs.domain.mover import Mover

TICKS_MAX = 3
"""Ticks in a row without any answer before it opens."""
PROBE_S, PROBE_S_MAX = 30.0, 600.0
"""Until the first probe; doubles with each that fails."""


def answered(outcomes: Sequence[StepOutcome]) -> bool | None:
    """Whether the actuator answered anything it was asked; None where it was asked nothing, so nobody knows."""
    states = {outcome.state for outcome in outcomes} - {StepState.NOT_ASKED}
    return states != {StepState.UNKNOWN} if states else None


def next_probe(mover: Mover, now: datetime) -> datetime | None:
    """When to probe after one more tick without an answer; None: it stays closed for now."""
    over = mover.ticks_failed + 1 - TICKS_MAX
    return None if over < 0 else now + timedelta(seconds=min(PROBE_S * 2.0 ** min(over, 30), PROBE_S_MAX))
