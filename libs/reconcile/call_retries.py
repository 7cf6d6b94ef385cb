"""Retries of calls to other systems: the number of attempts, and the waits between them. This module has every such
setting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from libs.reconcile.environment import Settings

_DOUBLINGS_MAX = 30
"""Largest number of doublings of a wait. After more doublings, a wait without a limit would be longer than a century.
"""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits that double, from `first_s` seconds up to `s_max`."""

    first_s: float
    s_max: float = math.inf

    def wait_s(self, failures: int) -> float:
        """Return the seconds to wait after `failures` failures in a row. `failures` is at least 1."""
        return min(self.first_s * 2.0 ** min(failures - 1, _DOUBLINGS_MAX), self.s_max)


@dataclass(frozen=True, slots=True)
class Breaker:
    """The thresholds of a circuit breaker.

    after    rounds in a row without any answer before it opens
    probes   the wait for the first probe, and for the next after each that failed
    """

    after: int
    probes: Backoff


@dataclass(frozen=True, slots=True)
class Retries:
    """The retries of a call whose caller waits for it, in real time.

    attempts_max   the first attempt included
    timeout_s      seconds of silence that end one attempt
    """

    attempts_max: int
    backoff: Backoff
    timeout_s: float


STEPS, CALLS = Backoff(30.0), Backoff(5.0, 300.0)
BREAKER = Breaker(after=3, probes=Backoff(30.0, 600.0))
PULLS = Retries(attempts_max=4, backoff=Backoff(0.5), timeout_s=60.0)
"""The defaults of CallSettings."""


def _count(name: str, default: int, *, most: int) -> Any:
    return Field(default=default, ge=1, le=most, validation_alias=f"PLIMSOLL_{name}")


def _seconds(name: str, default: float, *, most: float, zero: bool = True) -> Any:
    return Field(default=default, ge=0, gt=None if zero else 0, le=most, validation_alias=f"PLIMSOLL_{name}")


class CallSettings(Settings):
    """Retries, read from the environment. Durations are on the Clock; those of pulls are real time.

    move_attempts_max   attempts at one step of a move; then the move has failed for good
    move_backoff_s      before the second attempt; doubles with each further one
    move_step_s_max     an attempt that takes longer has failed
    call_backoff_s      before a step is asked for again after no answer; doubles up to call_backoff_s_max
    call_probe_after    ticks in a row without any answer before the circuit breaker opens
    call_probe_s        until its first probe; doubles up to call_probe_s_max
    pull_attempts_max   at one query to Prometheus, or to the portal of a region of which a plan reads the supply
    pull_backoff_s      before the second attempt; doubles with each further one
    pull_timeout_s      silence of Prometheus that ends an attempt
    """

    move_attempts_max: int = _count("MOVE_ATTEMPTS_MAX", 3, most=20)
    move_backoff_s: float = _seconds("MOVE_BACKOFF_S", STEPS.first_s, most=3600)
    move_step_s_max: float = _seconds("MOVE_STEP_S_MAX", 3600.0, most=86_400, zero=False)
    call_backoff_s: float = _seconds("CALL_BACKOFF_S", CALLS.first_s, most=3600)
    call_backoff_s_max: float = _seconds("CALL_BACKOFF_S_MAX", CALLS.s_max, most=86_400)
    call_probe_after: int = _count("CALL_PROBE_AFTER", BREAKER.after, most=1000)
    call_probe_s: float = _seconds("CALL_PROBE_S", BREAKER.probes.first_s, most=3600)
    call_probe_s_max: float = _seconds("CALL_PROBE_S_MAX", BREAKER.probes.s_max, most=86_400)
    pull_attempts_max: int = _count("PULL_ATTEMPTS_MAX", PULLS.attempts_max, most=20)
    pull_backoff_s: float = _seconds("PULL_BACKOFF_S", PULLS.backoff.first_s, most=60)
    pull_timeout_s: float = _seconds("PULL_TIMEOUT_S", PULLS.timeout_s, most=600, zero=False)

    def steps(self) -> Backoff:
        """Return the waits between attempts at a step of a move."""
        return Backoff(self.move_backoff_s)

    def calls(self) -> Backoff:
        """Return the waits between calls that were not answered."""
        return Backoff(self.call_backoff_s, self.call_backoff_s_max)

    def breaker(self) -> Breaker:
        """Return the circuit breaker of an actuator."""
        return Breaker(self.call_probe_after, Backoff(self.call_probe_s, self.call_probe_s_max))

    def pulls(self) -> Retries:
        """Return the retries of a query to Prometheus or to a portal."""
        return Retries(self.pull_attempts_max, Backoff(self.pull_backoff_s), self.pull_timeout_s)
