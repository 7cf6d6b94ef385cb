"""Check plans for six regions of a dozen servers.

Each region has one cheapest plan, except for the choice among equal servers, which extraction makes by row. So a golden
does not depend on the solver's path.
"""

import pytest

from libs.assignment import Limits
from libs.domain.fleet import FleetSnapshot
from libs.domain.reservation import ReservationSpec
from libs.ras.replacement import plan_replacements
from libs.ras.solve import plan_target_bindings
from tests.builders.failures import failures_snapshot
from tests.builders.region import fleet_snapshot
from tests.fixtures.golden import Golden
from tests.golden.plan_text import plan_text

WEB = ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0})
"""web needs 2 servers in each of 3 MSBs: the third pair is its buffer."""
TWO_EACH = dict.fromkeys(["server-00", "server-01", "server-04", "server-05", "server-08", "server-09"], "web")
"""The two servers of each of the first three racks of four."""


def granted() -> FleetSnapshot:
    """A new reservation next to another. The cheapest buffer has its servers spread evenly."""
    feed = ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0})
    return fleet_snapshot(msbs=3, reservations={"web": WEB, "feed": feed}, current=TWO_EACH, in_use=TWO_EACH)


def short() -> FleetSnapshot:
    """A new reservation asks for more than there is. It gets all free servers, and web keeps its own."""
    feed = ReservationSpec(capacity_rru=9, rru={"hw-a": 1.5})
    return fleet_snapshot(msbs=3, reservations={"web": WEB, "feed": feed}, current=TWO_EACH, in_use=TWO_EACH)


def lost_msb() -> FleetSnapshot:
    """An MSB is down. Its pair is replaced in the MSB without servers of web."""
    down = [f"server-{row:02d}" for row in range(4, 8)]
    return fleet_snapshot(msbs=4, reservations={"web": WEB}, current=TWO_EACH, down=down)


def affinity() -> FleetSnapshot:
    """web wants half of its servers in the other datacenter, and at most a quarter in an MSB. Idle servers leave."""
    shares, limit = {"dc-00": 0.5, "dc-01": 0.5}, 0.25
    web = ReservationSpec(
        capacity_rru=4, rru={"hw-a": 1.0}, survives_msb_loss=False, affinity=shares, msb_spread_limit=limit
    )
    held = dict.fromkeys(["server-00", "server-01", "server-04", "server-05"], "web")
    in_use = ["server-00", "server-05"]
    return fleet_snapshot(datacenters=2, msbs=4, reservations={"web": web}, current=held, in_use=in_use)


def retirement() -> FleetSnapshot:
    """A rack leaves the fleet. The other rack of its MSB replaces its pair, so that the buffer does not grow."""
    leaving = ["server-00", "server-01"]
    return fleet_snapshot(
        msbs=3, racks_per_msb=2, servers_per_rack=2, reservations={"web": WEB}, current=TWO_EACH, leaving=leaving
    )


@pytest.mark.parametrize("region", [granted, short, lost_msb, affinity, retirement])
def test_the_plan_of_a_region_is_the_same(region, golden: Golden) -> None:
    snapshot = region()
    found = plan_target_bindings(snapshot, Limits(relative_gap=0.0))
    assert found.report.stopped_by == "finished"
    golden.check(f"plan_diffs/{region.__name__}.txt", f"{region.__doc__}\n\n{plan_text(snapshot, found.plan)}")


def test_the_draw_from_a_shared_buffer_is_the_same(golden: Golden) -> None:
    """A server of web fails. The spare server of the MSB with the fewest servers of web replaces it at once."""
    buffer = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False)
    spares = dict.fromkeys(["server-02", "server-06"], "shared-buffer-hw-a")
    failures = failures_snapshot(
        msbs=3,
        reservations={"web": WEB, "shared-buffer-hw-a": buffer},
        current={**TWO_EACH, **spares},
        kind={"shared-buffer-hw-a": "shared_buffer"},
        down=["server-05"],
    )
    said = test_the_draw_from_a_shared_buffer_is_the_same.__doc__
    golden.check(
        "plan_diffs/shared_buffer.txt", f"{said}\n\n{plan_text(failures.fleet, plan_replacements(failures).plan)}"
    )
