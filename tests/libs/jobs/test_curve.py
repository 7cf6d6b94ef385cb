"""The curve of a long job stays small, and keeps its phases and its end."""

import math

from libs.jobs.curve import POINTS_MAX, Curve


def test_a_point_is_kept_only_if_it_says_something_new() -> None:
    curve = Curve()
    curve.add(0.0, "build")
    curve.add(0.1, "build", math.inf, math.nan)
    curve.add(0.2, "search", 10.0, 8.0)
    curve.add(0.3, "search", 10.0, 8.0)
    curve.add(0.4, "search", 9.123456789, 8.0)
    assert curve.points == [
        {"at_s": 0.0, "phase": "build"},
        {"at_s": 0.2, "phase": "search", "incumbent": 10.0, "bound": 8.0},
        {"at_s": 0.4, "phase": "search", "incumbent": 9.123457, "bound": 8.0},
    ]


def test_a_long_job_keeps_its_phases_its_first_and_its_last_point() -> None:
    curve = Curve()
    curve.add(0.0, "build")
    for at in range(1, 10_000):
        curve.add(at, "search" if at < 9_000 else "repair", 20_000.0 - at, 1.0)
        assert len(curve.points) <= POINTS_MAX
    points = curve.points
    assert points[0] == {"at_s": 0.0, "phase": "build"}
    assert points[-1] == {"at_s": 9999, "phase": "repair", "incumbent": 10_001.0, "bound": 1.0}
    firsts = {point["phase"]: point["at_s"] for point in reversed(points)}
    assert firsts == {"build": 0.0, "search": 1, "repair": 9_000}
    times = [point["at_s"] for point in points]
    assert times == sorted(times)


def test_a_job_of_many_phases_stays_bounded() -> None:
    curve = Curve()
    for at in range(1000):
        curve.add(at, f"phase {at}")
        assert len(curve.points) <= POINTS_MAX
    assert curve.points[-1]["phase"] == "phase 999"
