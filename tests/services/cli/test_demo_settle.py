"""At the end of its day, a demo waits for a slow machine as long as anything changes."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from services.cli.demo import command


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
    command._settle(cast(Any, slow), cast(Any, platform))
    assert slow.undecided == never
    said = " ".join(capsys.readouterr().err.split())
    assert "the day is over; waiting for 2 decisions and 0 moves" in said
    assert trouble in said if trouble else "trouble" not in said
