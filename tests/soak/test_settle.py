"""Check the conditions for judging a run."""

from typing import Any

import pytest

from soak import settle


class Rested:
    """An idle platform: one region, solved at noon as run 7."""

    def __init__(self, **lists: list[dict[str, Any]]) -> None:
        run = {"solve_run_id": 7, "status": "committed", "started_at": "2026-11-22T12:00:00Z"}
        self.lists = {"solve-runs": [run]} | {name.replace("_", "-"): items for name, items in lists.items()}

    def get(self, path: str, **query: object) -> dict[str, Any]:
        if path == "/v1/telemetry":
            return {"waiting": {"spans": 0}}
        name = path.removeprefix("/v1/").partition("?")[0]
        if name == "capacity-requests" or "status=running" in path:
            return {"items": []}
        return {"items": self.lists.get(name, []), "next_cursor": None}


@pytest.fixture(autouse=True)
def no_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settle, "load_jobs", lambda database: {"jobs": []})


def waits_for(platform: Any, solved_before: int = 6) -> str:
    return settle._unquiet(platform, None, {"soak": solved_before})  # type: ignore[arg-type]


def test_nothing_is_waited_for_at_rest() -> None:
    assert waits_for(Rested()) == ""


def test_a_solve_after_the_faults_is_waited_for() -> None:
    assert waits_for(Rested(), solved_before=7) == "soak has not been solved since the faults ended"


@pytest.mark.parametrize(
    ("starts_at", "is_waited_for"), [("2026-11-22T11:59:59Z", False), ("2026-11-22T12:00:09Z", True)]
)
def test_a_solve_is_waited_for_that_has_seen_what_failed_last(starts_at: str, is_waited_for: bool) -> None:
    event = {"scope_name": "server-1", "starts_at": starts_at}
    said = "soak has not been solved since server-1 was lost"
    assert waits_for(Rested(unavailability_events=[event])) == (said if is_waited_for else "")
