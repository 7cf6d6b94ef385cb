"""The circuit breaker before an actuator decides when to stop calling it, and when to probe. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from libs.actuators.actuator import StepOutcome, StepState
from libs.domain.mover import Mover
from libs.reconcile.call_retries import Breaker


def answered(outcomes: Sequence[StepOutcome]) -> bool | None:
    """Return whether the actuator answered at least one of its calls; None if the mover made no call."""
    states = {outcome.state for outcome in outcomes} - {StepState.NOT_ASKED}
    return states != {StepState.UNKNOWN} if states else None


def next_probe(mover: Mover, breaker: Breaker, now: datetime) -> datetime | None:
    """Return when to probe the actuator, after one more tick without an answer; None if the breaker stays closed."""
    failures = mover.ticks_failed + 1 - breaker.after + 1  # the first failure is the tick that opens the breaker
    return None if failures < 1 else now + timedelta(seconds=breaker.probes.wait_s(failures))
