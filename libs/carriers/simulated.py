"""A carrier without a real system: each request is done after a while. A crash cannot lose any state."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from libs.carriers.carrier import Carrier
from libs.domain.action_outcome import ActionRequest, Answer, Outcome
from libs.reconcile.clock import Clock
from libs.reconcile.environment import Settings


class SimulatedCarrierSettings(Settings):
    """Settings of the simulation. simulated_action_s is in seconds on the Clock."""

    simulated_action_s: float = Field(default=60.0, ge=0, le=86_400, validation_alias="PLIMSOLL_SIMULATED_ACTION_S")


class SimulatedCarrier:
    """Reports every request as done once its delay has passed."""

    def __init__(self, clock: Clock, settings: SimulatedCarrierSettings) -> None:
        self._clock, self._settings = clock, settings

    def perform(self, requests: Sequence[ActionRequest]) -> Sequence[Answer]:
        """See Carrier."""
        now_s = self._clock.now().timestamp()
        return [self._answer(now_s - request.requested_s) for request in requests]

    def _answer(self, passed_s: float) -> Answer:
        wait_s = self._settings.simulated_action_s - passed_s
        return Answer(outcome=Outcome.DONE) if wait_s <= 0 else Answer(outcome=Outcome.RUNNING, ask_again_s=wait_s)


def create(clock: Clock) -> Carrier:
    """Return a SimulatedCarrier with settings from the environment."""
    return SimulatedCarrier(clock, SimulatedCarrierSettings())
