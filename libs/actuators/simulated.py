"""An actuator without real servers. It derives delays and failures from the key, so a crash cannot lose any state."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from statistics import NormalDist

from pydantic import Field

from libs.actuators.actuator import Actuator, StepOutcome, StepRequest, StepState
from libs.domain.move import MoveStep
from libs.reconcile.clock import Clock
from libs.reconcile.environment import Settings

_MEDIAN_S = {
    MoveStep.ABORT: 5.0,
    MoveStep.PREEMPT: 60.0,
    MoveStep.CLEAN: 90.0,
    MoveStep.HOST_PROFILE: 240.0,  # a reboot
    MoveStep.JOIN: 20.0,
}
_LOG_DEVIATION = 0.5
_NORMAL = NormalDist()
_RUNNING, _DONE = StepOutcome(state=StepState.RUNNING), StepOutcome(state=StepState.DONE)


class SimulatedSettings(Settings):
    """Settings of the simulation.

    simulated_delay           factor on the usual lognormal delays: about a minute to leave, four to change the profile
    simulated_failure_rate    share of attempts that fail
    """

    simulated_seed: int = Field(default=0, validation_alias="PLIMSOLL_SIMULATED_SEED")
    simulated_delay: float = Field(default=1.0, ge=0, le=1000, validation_alias="PLIMSOLL_SIMULATED_DELAY")
    simulated_failure_rate: float = Field(default=0.01, ge=0, le=1, validation_alias="PLIMSOLL_SIMULATED_FAILURE_RATE")


class SimulatedActuator:
    """Reports a step as done or failed once its delay has passed."""

    def __init__(self, clock: Clock, settings: SimulatedSettings) -> None:
        self._clock, self._settings = clock, settings

    def perform(self, steps: Sequence[StepRequest]) -> Sequence[StepOutcome]:
        """See Actuator."""
        now = self._clock.now()
        return [self._outcome(step, (now - step.started_at).total_seconds()) for step in steps]

    def _outcome(self, step: StepRequest, passed_s: float) -> StepOutcome:
        key = f"{self._settings.simulated_seed} {step.move_id} {step.step} {step.attempt}".encode()
        digest = hashlib.blake2b(key, digest_size=16).digest()
        luck, speed = (_share(digest[:8]), _share(digest[8:]))
        deviation = math.exp(_LOG_DEVIATION * _NORMAL.inv_cdf(speed))
        if passed_s < _MEDIAN_S[step.step] * deviation * self._settings.simulated_delay:
            return _RUNNING
        if luck < self._settings.simulated_failure_rate:
            return StepOutcome(state=StepState.FAILED, message=f"simulated failure of {step.step}")
        return _DONE


def create(clock: Clock) -> Actuator:
    """Return a SimulatedActuator with settings from the environment, for the registry."""
    return SimulatedActuator(clock, SimulatedSettings())


def _share(eight_bytes: bytes) -> float:
    """Return a number strictly between 0 and 1."""
    return (int.from_bytes(eight_bytes) + 0.5) / 2**64
