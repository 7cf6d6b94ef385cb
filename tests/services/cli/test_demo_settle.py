"""At the end of its day, a demo waits for a slow machine as long as anything changes."""

from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from libs.reconcile.clock import SystemClock
from services.cli.demo import command
from services.cli.demo.day import Agenda
from services.cli.demo.people import Owners
from tests.builders.clock import ManualClock


class Slow:
    """A platform that decides a request at every third look, down to `never`."""

    def __init__(self, undecided: int, never: int) -> None:
        self.undecided, self.never, self.looks = undecided, never, 0

    def items(self, path: str, **query: object) -> Iterator[dict[str, Any]]:
        if query.get("phase") == "submitted":
            self.looks += 1
            self.undecided = max(self.never, self.undecided - (self.looks % 3 == 0))
            yield from ({} for _ in range(self.undecided))


@pytest.mark.parametrize(("never", "trouble"), [(0, ""), (2, "nothing has changed for 15 s: 2 requests undecided")])
def test_a_slow_machine_is_waited_for(
    never: int, trouble: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter(range(10_000))  # a second passes at every look
    monkeypatch.setattr(command, "time", SimpleNamespace(monotonic=lambda: next(clock), sleep=lambda _: None))
    monkeypatch.setattr(command, "_SETTLE_S_MAX", 15.0)
    platform = SimpleNamespace(supervisor=SimpleNamespace(tend=lambda: None))
    slow = Slow(8, never)
    agenda, put_off = Agenda(SystemClock(), datetime.now(UTC)), []
    owners = Owners(cast(Any, slow), "demo", waiting=1)
    agenda.at(0.0, lambda: put_off.append(setattr(owners, "waiting", 0)))
    command._settle(cast(Any, slow), cast(Any, platform), agenda, owners)
    assert put_off, "a request that waited for an answer is sent after the day"
    assert slow.undecided == never
    said = " ".join(capsys.readouterr().err.split())
    assert "the day is over; waiting for 2 decisions and 0 moves" in said
    assert trouble in said if trouble else "trouble" not in said


@pytest.mark.parametrize(("looks", "waits"), [(3, 3), (99, 5)])
def test_reservations_are_filled_before_the_figures_are_read(
    looks: int, waits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some of them may stay short, so the demo waits a few solves at most."""
    clock = ManualClock()
    asked = []

    class Filling:
        def items(self, path: str, **query: object) -> Iterator[dict[str, Any]]:
            asked.append(path)
            short = 5.0 if len(asked) < looks else 0.0
            yield {"status": {"target": {"shortfall_rru": 0.0}, "current": {"shortfall_rru": short}}}

    hour = SimpleNamespace(sleep=lambda _: clock.sleep(command.HOUR_S))
    monkeypatch.setattr(command, "time", hour)
    monkeypatch.setattr(command, "_SHORT_S_MAX", 5 * command.HOUR_S)
    platform = SimpleNamespace(supervisor=SimpleNamespace(tend=lambda: None))
    command._fill(cast(Any, Filling()), cast(Any, platform), Agenda(clock, clock.now()))
    assert len(asked) == waits
