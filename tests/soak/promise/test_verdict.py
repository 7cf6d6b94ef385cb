"""A run in which the platform did not work, or broke a promise, fails."""

from typing import Any

import pytest

from soak.promise.verdict import faults_of

KEPT = {"below_s": 0, "reservations_below": 0}
PASSED: dict[str, Any] = {
    "least": {"moved": KEPT, "there": KEPT, "spread": {"below_s": 9, "reservations_below": 1}},
    "wrong_steps": [],
    "jobs_raised": {},
    "jobs_stale": {"draw_replacements: StaleGeneration": 2},
    "jobs_failed": {},
    "solve_runs": {"unchanged": 1, "stale": 3},
    "joined": 1,
    "reservations": 2,
    "never_kept": 1,
}


def test_stale_writes_and_waits_are_no_faults() -> None:
    assert faults_of(PASSED) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"least": {"moved": KEPT, "there": {"below_s": 4, "reservations_below": 1}}}, "below their promise by there"),
        ({"wrong_steps": ["server-1 joined web unclean"]}, "server-1 joined web unclean"),
        ({"jobs_raised": {"move: RuntimeError": 3}}, "move: RuntimeError"),
        ({"jobs_failed": {"solve": 1}}, "failed for good"),
        ({"solve_runs": {"failed": 9, "stale": 1, "running": 1}}, "No solve succeeded"),
        ({"joined": 0}, "No server joined"),
        ({"never_kept": 2}, "No promise was ever kept"),
        ({"never_kept": 0, "reservations": 0}, "No promise was ever kept"),
    ],
)
def test_each_fault_fails_the_run(changed: dict[str, Any], said: str) -> None:
    (fault,) = faults_of(PASSED | changed)
    assert said in fault
