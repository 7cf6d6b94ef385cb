"""The soak takes for a promise only what was granted."""

import pytest

from soak.promise.people import granted_of, promises_of


def request(number: int, kind: str, phase: str, capacity_rru: float | None = None) -> dict:
    spec = None if capacity_rru is None else {"capacity_rru": capacity_rru}
    return {
        "capacity_request_id": number,
        "reservation": "web",
        "kind": kind,
        "spec": spec,
        "status": {"phase": phase},
    }


@pytest.mark.parametrize(
    ("requests", "granted"),
    [
        ([("create", "granted", 4)], {}),
        ([("create", "degraded", 4)], {"web": 0.0}),
        ([("create", "granted", 3), ("resize", "degraded", 4)], {"web": 3.0}),
        ([("create", "granted", 3), ("resize", "rejected", 4)], {}),
        ([("create", "granted", 3), ("delete", "granted", None), ("create", "degraded", 4)], {"web": 0.0}),
        ([("create", "degraded", 3), ("resize", "granted", 2)], {}),
    ],
)
def test_what_was_granted_so_far(requests: list[tuple[str, str, float | None]], granted: dict[str, float]) -> None:
    listed = [request(number, kind, phase, rru) for number, (kind, phase, rru) in enumerate(requests)]
    assert granted_of(reversed(listed)) == granted


def test_a_request_that_waits_is_no_promise() -> None:
    spec = {"rru": {"hw-a": 1.0}, "capacity_rru": 4.0, "survives_msb_loss": True}
    rows = [{"name": name, "status": {"phase": "degraded"}, "spec": spec} for name in ("batch", "db", "web")]
    made = promises_of(rows, {"web": 0.0, "db": 3.0}, ["hw-a"])
    assert dict(zip(made.name, made.capacity_rru, strict=True)) == {"batch": 4.0, "db": 3.0}
