"""A stored simulation report survives the round trip through its document."""

import json
from dataclasses import replace

import numpy as np

from libs.domain.power import PowerLimit
from libs.domain.reservation import ReservationSpec
from libs.domain.simulation import Demand, WhatIf
from libs.domain.what_if import imagine
from libs.ras.difference import difference
from libs.ras.simulation_report import Refusal, SimulationReport, report_as_json, report_of_json
from tests.builders.region import region_image


def report() -> SimulationReport:
    """Return a report of a region with a limit on power."""
    servers = [f"server-{i:02d}" for i in range(8)]
    spec = ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}, survives_msb_loss=False)
    image = region_image(
        msbs=2,
        racks_per_msb=1,
        servers_per_rack=4,
        reservations={"web": spec, "batch": replace(spec, capacity_rru=6)},
        current=dict.fromkeys(servers[:3], "web"),
        attributes={"hw-a": {"idle_w": 100.0, "full_w": 300.0}},
        power_limits=[PowerLimit(kind="MSB", domain="msb-00", limit_w=1500.0, headroom=0.1)],
    )
    before = replace(image.snapshot, servers=replace(image.snapshot.servers, target=image.snapshot.servers.current))
    imagined = imagine(
        before, WhatIf(policy={}, demand=(Demand(reservation="batch", capacity_rru=100),)), {"batch": "a"}
    )
    target = np.where(before.servers.target < 0, 1, before.servers.target).astype(np.int32)
    refused = (Refusal(reservation="batch", reason="BeyondRegion", message="There are 8."),)
    return SimulationReport(
        difference=difference(before, imagined, target),
        refused=refused,
        solve={"stopped_by": "finished"},
        waves={"message": "1 wave"},
    )


def test_it_comes_back_from_json_as_it_was() -> None:
    made = report()
    document = json.loads(json.dumps(report_as_json(made)))
    assert report_of_json(document) == made
    assert made.difference.moves == 5
    assert [one["free_w_after"] for one in document["power"]] == [150.0]
    assert [row["short_rru_after"] for row in document["reservations"]] == [95.0]
    assert set(document) == {
        "cost", "reservations", "hardware_types", "moves", "moves_shown", "power", "power_limits", "refused", "solve",
        "short_of", "waves",
    }  # fmt: skip
    after = document["cost"]["after"]
    assert after["total"] == made.difference.cost.after.total
    assert after["penalty"] == made.difference.cost.after.penalty


def test_a_page_leaves_its_reservations_and_domains_out() -> None:
    document = report_as_json(report())
    del document["reservations"]
    del document["power"]
    brief = report_of_json(document)
    assert (brief.difference.reservations, brief.difference.power) == (None, None)
    assert report_as_json(brief) == json.loads(json.dumps(document)) | {
        "hardware_types": document["hardware_types"],
        "moves_shown": document["moves_shown"],
    }
