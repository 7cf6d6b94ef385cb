"""A what-if names the resource or guest of which a reservation is short."""

import json

from libs.domain.reservation import ReservationSpec
from libs.domain.simulation import Loss, WhatIf
from libs.domain.what_if import imagine
from libs.ras.difference import difference
from libs.ras.estimate import estimate
from libs.ras.simulation_report import SimulationReport, report_as_json, report_of_json
from tests.builders.region import region_image

HOST = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False)
GUEST = ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0}, survives_msb_loss=False, guest_of="web", guest_share=0.5)


def test_a_guest_that_lacks_servers_of_its_host_is_named() -> None:
    """Without one MSB, 4 servers of web remain: 2 of 2 RRU for web, and 2 of 4 for its guest."""
    servers = [f"server-{i:02d}" for i in range(8)]
    before = region_image(
        msbs=2,
        racks_per_msb=1,
        servers_per_rack=4,
        reservations={"web": HOST, "cache": GUEST},
        target=dict.fromkeys(servers, "web"),
    ).snapshot
    without = imagine(before, WhatIf(policy={}, lose=(Loss(scope="msb", name="msb-00"),)), {"web": "team"})
    [row] = estimate(before, without).reservations
    assert (row.reservation, row.short_rru_at_once, row.short_of) == ("web", 1.0, "RRU of its guest cache")
    told = difference(before, without, without.servers.target)
    assert told.short_of == {"web": "RRU of its guest cache"}
    report = SimulationReport(difference=told, refused=(), solve={})
    assert report_of_json(json.loads(json.dumps(report_as_json(report)))).difference.short_of == told.short_of


def test_a_reservation_that_lacks_its_own_rru_is_short_of_nothing_else() -> None:
    servers = [f"server-{i:02d}" for i in range(8)]
    more = ReservationSpec(capacity_rru=6, rru={"hw-a": 1.0}, survives_msb_loss=False)
    before = region_image(
        msbs=2, racks_per_msb=1, servers_per_rack=4, reservations={"web": more}, target=dict.fromkeys(servers, "web")
    ).snapshot
    without = imagine(before, WhatIf(policy={}, lose=(Loss(scope="msb", name="msb-00"),)), {"web": "team"})
    [row] = estimate(before, without).reservations
    assert (row.short_rru_at_once, row.short_of) == (2.0, None)
    assert difference(before, without, without.servers.target).short_of == {}
