"""The simulated actuator's answer depends only on key and time."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from libs.actuators.actuator import StepOutcome, StepRequest, StepState
from libs.actuators.simulated import SimulatedActuator, SimulatedSettings
from libs.domain.move import MoveStep

T0 = datetime(2026, 1, 1, tzinfo=UTC)


class At:
    def __init__(self, seconds: float) -> None:
        self._now = T0 + timedelta(seconds=seconds)

    def now(self) -> datetime:
        return self._now

    def sleep(self, duration_s: float) -> None:
        raise AssertionError("it waits for nothing")


def request(move_id: int, step: MoveStep = MoveStep.PREEMPT, attempt: int = 1) -> StepRequest:
    return StepRequest(
        move_id=move_id,
        step=step,
        attempt=attempt,
        started_at=T0,
        region="west",
        server="s",
        from_reservation=None,
        to_reservation=None,
        from_host_profile="default",
        to_host_profile=None,
    )


def states(seconds: float, requests: list[StepRequest], seed: int = 0, rate: float = 0.2) -> list[StepState]:
    settings = SimulatedSettings(PLIMSOLL_SIMULATED_SEED=seed, PLIMSOLL_SIMULATED_FAILURE_RATE=rate)
    outcomes: list[StepOutcome] = list(SimulatedActuator(At(seconds), settings).perform(requests))
    return [outcome.state for outcome in outcomes]


REQUESTS = [request(i) for i in range(2000)]


def test_a_step_takes_its_time_and_then_stays_as_it_is() -> None:
    assert set(states(0.1, REQUESTS)) == {StepState.RUNNING}
    assert 0.4 < states(60.0, REQUESTS).count(StepState.RUNNING) / 2000 < 0.6, "60 s is the median"
    over = states(10_000.0, REQUESTS)
    assert StepState.RUNNING not in over
    early = states(60.0, REQUESTS)
    assert all(a in (b, StepState.RUNNING) for a, b in zip(early, over, strict=True))


def test_failures_come_at_their_rate_and_anew_with_each_attempt() -> None:
    first = states(10_000.0, REQUESTS)
    assert 0.16 < first.count(StepState.FAILED) / 2000 < 0.24
    second = states(10_000.0, [replace(r, attempt=2) for r in REQUESTS])
    both = sum(a is b is StepState.FAILED for a, b in zip(first, second, strict=True))
    assert 0.02 < both / 2000 < 0.06
    assert states(10_000.0, REQUESTS, seed=1) != first
    assert set(states(10_000.0, REQUESTS, rate=0.0)) == {StepState.DONE}
