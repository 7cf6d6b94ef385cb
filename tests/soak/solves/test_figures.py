"""The figures of a plan are those of counting its servers one by one."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from libs.domain.reservation import ReservationSpec
from soak.solves.figures import least_msb_share, moves_of, placement_of
from soak.solves.goals import with_and_without
from soak.solves.notes import _after
from soak.solves.pictures import pictures_of
from soak.solves.summary import summary_of
from tests.builders.random_region import random_region
from tests.builders.region import fleet_snapshot

RRU = {"hw-a": 2.0}
SPECS = {
    "web": ReservationSpec(capacity_rru=6, rru=RRU, affinity={"dc-00": 0.5, "dc-01": 0.5}),
    "db": ReservationSpec(capacity_rru=4, rru=RRU, survives_msb_loss=False),
}


def snapshot(**rest):
    """Two datacenters of two MSBs of four servers: web has 3, 1, 1 and 0 of them, and db two of the last."""
    web = ("00", "01", "02", "04", "08")
    current = {f"server-{i}": "web" for i in web} | {f"server-{i}": "db" for i in ("12", "13")}
    return fleet_snapshot(datacenters=2, msbs=4, reservations=SPECS, current=current, **rest)


def test_shares_are_counted_on_single_servers() -> None:
    region = snapshot()
    found = placement_of(region, region.servers.target)
    assert found.largest_msb_share == pytest.approx(3 / 5)  # db does not survive the loss of an MSB
    assert found.outside_affinity == pytest.approx(4 / 5 - 1 / 2)
    by_msb = np.array([3, 1, 1, 2])
    assert found.servers_variation == pytest.approx(by_msb.std() / by_msb.mean())
    assert found.broken == 1  # web keeps 4 RRU of 6 without its largest MSB, db has its 4
    assert least_msb_share(region) == pytest.approx(1 / 4)


def test_a_region_without_servers_in_reservations_has_no_shares() -> None:
    region = fleet_snapshot(reservations=SPECS)
    found = placement_of(region, region.servers.target)
    assert math.isnan(found.largest_msb_share)
    assert math.isnan(found.servers_variation)
    assert found.broken == 2


def test_moves_are_the_servers_whose_target_changes() -> None:
    region = snapshot(in_use=["server-00"], down=["server-04"])
    planned = [("server-00", "db"), ("server-03", "web"), ("server-12", None), ("server-04", "db")]
    target = _after(region, region.servers.target, planned)
    assert Counter(target.tolist()) == Counter({0: 4, 1: 3, -1: 9})
    found = moves_of(region, target)
    assert (found.in_use, found.idle) == (1, 2)  # server-04 is down


@pytest.mark.parametrize("seed", [1, 2])
def test_goals_that_are_left_out_show(seed) -> None:
    region = random_region(np.random.default_rng(seed), 120, 6, msbs=6, types=2)
    survives = np.ones(6, bool)
    region = replace(region, reservations=replace(region.reservations, survives_msb_loss=survives))
    found = with_and_without(region)
    assert len(found) == 3
    assert found["all goals"]["largest_msb_share"] < found["without spread and MSB loss"]["largest_msb_share"]
    assert found["all goals"]["broken"] <= found["without spread and MSB loss"]["broken"]


ROW = {
    "hour": 0.0,
    "reservations": 3,
    "processor_s": 1.0,
    "wall_s": 2.0,
    "gap": 0.01,
    "gap_in_preemptions": 3.0,
    "broken_before": 2,
    "broken_after": 1,
    "moved_in_use": 1,
    "moved_idle": 12,
    "embedded_rru": 12.0,
    "least_embedded_rru": 10.0,
    "largest_msb_share_before": 0.3,
    "largest_msb_share_after": 0.2,
    "least_msb_share": 0.1,
    "outside_affinity_before": math.nan,
    "outside_affinity_after": 0.1,
    "servers_variation_before": 0.5,
    "servers_variation_after": 0.4,
}


def test_a_summary_has_quantiles_and_sums() -> None:
    rows = [ROW, ROW | {"hour": 1.0, "gap": math.nan, "gap_in_preemptions": 500.0, "broken_before": 0, "moved_idle": 8}]
    found = summary_of(rows)
    assert found["gap"] == {"median": 0.01, "p90": 0.01, "most": 0.01}
    assert found["gap_in_preemptions"]["most"] == 500
    assert found["solves_within_200_preemptions"] == 0.5
    assert (found["idle_per_in_use"], found["embedded_to_least"]) == (10, 1.2)
    assert (found["solves_with_broken_reservations"], found["of_these_left_with_fewer_or_none"]) == (1, 1)


def test_pictures_have_a_line_for_each_figure() -> None:
    rows = [ROW | {"hour": float(hour)} for hour in range(100)]
    goals = {"all": {"largest_msb_share": 0.1, "outside_affinity": 0.0, "servers_variation": 0.2}}
    found = pictures_of(rows, goals)
    assert sorted(found) == ["goals.svg", "plans.svg", "time-and-gap.svg"]
    assert found["time-and-gap.svg"].count("<polyline") == 6
    assert "<circle" not in found["plans.svg"]
    assert len(found["plans.svg"]) < 40_000
