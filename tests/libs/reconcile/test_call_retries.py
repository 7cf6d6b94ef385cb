"""Waits double up to their limit, and the environment may override them."""

import pytest

from libs.reconcile.call_retries import BREAKER, CALLS, PULLS, STEPS, Backoff, CallSettings
from libs.reconcile.environment import read_environment


def test_waits_double_up_to_their_limit() -> None:
    assert [Backoff(5.0, 30.0).wait_s(n) for n in (1, 2, 3, 4, 5, 5000)] == [5.0, 10.0, 20.0, 30.0, 30.0, 30.0]
    assert Backoff(1.0).wait_s(5000) < 1e12, "a finite number, also without a limit"
    assert Backoff(0.0).wait_s(3) == 0.0


def test_without_settings_the_constants_count() -> None:
    settings = read_environment(CallSettings)
    assert (settings.steps(), settings.calls(), settings.breaker(), settings.pulls()) == (STEPS, CALLS, BREAKER, PULLS)


def test_the_environment_may_say_other_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"CALL_BACKOFF_S": "1", "CALL_BACKOFF_S_MAX": "8", "CALL_PROBE_AFTER": "7"}.items():
        monkeypatch.setenv(f"PLIMSOLL_{name}", value)
    settings = read_environment(CallSettings)
    assert (settings.calls(), settings.breaker().after) == (Backoff(1.0, 8.0), 7)
    monkeypatch.setenv("PLIMSOLL_PULL_ATTEMPTS_MAX", "0")
    with pytest.raises(SystemExit, match="PLIMSOLL_PULL_ATTEMPTS_MAX"):
        read_environment(CallSettings)
