"""The benchmark of solves after a change begins where the last plan ended."""

from pathlib import Path

import numpy as np

from benchmarks.resolve import after_change, bench_resolve
from libs.interchange.region.write import image_of, save_region
from tests.builders.random_region import random_region


def test_a_region_is_solved_again_after_a_change(tmp_path: Path) -> None:
    save_region(image_of(random_region(np.random.default_rng(1), 2_000, 40)), tmp_path / "region")
    found = bench_resolve([str(tmp_path / "region"), "--seed", "3"])
    first, again = found["first"], found["again"]
    assert again["lower_bound"] <= again["total_without_rack"] + 1e-6
    assert again["moved"] < first["moved"]


def test_a_change_keeps_the_plan() -> None:
    snapshot = random_region(np.random.default_rng(1), 2_000, 40)
    target = np.roll(snapshot.servers.target, 1)
    changed = after_change(snapshot, target, 0.01, np.random.default_rng(0))
    assert changed.servers.target.tolist() == changed.servers.current.tolist() == target.tolist()
    assert (changed.servers.available != snapshot.servers.available).sum() == 20
    assert (changed.reservations.capacity_rru != snapshot.reservations.capacity_rru).sum() == 1
    assert not changed.servers.in_use[target < 0].any()
