"""A shortage names the servers that would help, and no others."""

import pytest

from libs.domain.domain_limits import DomainLimit
from libs.domain.policy import RegionPolicy
from libs.domain.reservation import Coverage, ReservationSpec
from libs.ras.explain.explanation import explain
from libs.ras.findings import findings_of
from tests.builders.region import fleet_snapshot

FOUR = ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0})
BOUND = dict.fromkeys(["server-00", "server-01", "server-02", "server-04", "server-05"], "web")


def test_free_servers_in_the_largest_msb_do_not_help_and_the_need_is_what_is_missing() -> None:
    """3 in msb-00 and 2 in msb-01: 2 remain without msb-00. Two more are free outside it, one inside."""
    snapshot = fleet_snapshot(reservations={"web": FOUR}, current=BOUND)
    shortage = explain(snapshot, 0, last_solve=None).shortage
    assert shortage is not None
    assert shortage.numbers == {"short_rru": 2.0, "needed_servers": 2.0, "free_servers": 2.0}
    assert shortage.message.startswith("Needs at least 2 more hw-a outside msb-00; 2 free.")


def test_a_free_server_that_is_not_usable_does_not_help() -> None:
    snapshot = fleet_snapshot(reservations={"web": FOUR}, current=BOUND)
    usable = snapshot.servers.name != "server-06"
    explanation = explain(snapshot, 0, last_solve=None, usable=usable)
    assert explanation.shortage is not None
    assert explanation.shortage.numbers["free_servers"] == 1
    assert [use.free_servers for use in explanation.types] == [2], "server-03 and server-07 are free"


def test_servers_in_the_largest_domain_of_a_further_kind_do_not_help() -> None:
    """3 of 5 servers are in block-0. One server of each block is free. The MSBs are lost more easily."""
    spec = ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0}, survives_loss_of=("network_block",))
    blocks = dict(zip([f"server-{i:02d}" for i in range(8)], (0, 0, 0, 0, 1, 1, 1, 2), strict=True))
    bound = dict.fromkeys(["server-00", "server-01", "server-03", "server-04", "server-06"], "web")
    snapshot = fleet_snapshot(
        msbs=4,
        servers_per_rack=2,
        reservations={"web": spec},
        current=bound,
        domains={"network_block": {name: f"block-{block}" for name, block in blocks.items()}},
    )
    explanation = explain(snapshot, 0, last_solve=None)
    assert explanation.shortage is not None
    assert explanation.shortage.message.startswith("Needs at least 2 more hw-a outside network_block block-0; 2 free.")
    assert explanation.survived == ("MSB", "network_block")
    assert explanation.worst is not None
    assert (explanation.worst.kind, explanation.worst.domain, explanation.worst.rru) == ("network_block", "block-0", 3)


def test_a_lack_of_a_resource_names_it_and_the_servers_that_bring_it() -> None:
    """4 hw-a give the capacity and 512 GiB. One hw-b has 1024 GiB, and a second one survives the loss of its MSB."""
    spec = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0, "hw-b": 1.0}, resources={"memory_gib": 1000})
    snapshot = fleet_snapshot(
        racks_per_msb=2,
        servers_per_rack=2,
        hardware_types=("hw-a", "hw-b"),
        attributes={"hw-a": {"memory_gib": 128}, "hw-b": {"memory_gib": 1024}},
        reservations={"web": spec},
        current=dict.fromkeys(["server-00", "server-01", "server-04", "server-05"], "web"),
    )
    explanation = explain(snapshot, 0, last_solve=None)
    shortage = explanation.shortage
    assert shortage is not None
    assert shortage.message.startswith("Needs at least 1 more hw-b (or hw-a); 4 free. Short of 744 of 1000 memory_gib")
    assert shortage.numbers["short_memory_gib"] == pytest.approx(744)
    assert shortage.numbers["short_rru"] == pytest.approx(2 * 0.744)
    claims = {(one.name, one.subject) for one in explanation.deciders.deciders}
    assert ("Resource", "memory_gib") in claims


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"msb_share_max": 0.4}, "at most 0.4 of its capacity in one MSB (msb_share_max)"),
        ({"domain_limits": (DomainLimit(kind="msb", share_max=0.4),)}, "at most 0.4 of its capacity in one msb"),
        ({"domain_limits": (DomainLimit(kind="msb", servers_max=2),)}, "at most 2 servers in one msb (servers_max)"),
    ],
)
def test_a_server_that_a_hard_limit_bars_does_not_help(limits: dict[str, object], words: str) -> None:
    """4 of 8 servers are free, and 1 is needed. Each MSB has 2 servers of web already."""
    spec = ReservationSpec(capacity_rru=5, rru={"hw-a": 1.0}, survives_msb_loss=False, **limits)
    bound = dict.fromkeys(["server-00", "server-01", "server-04", "server-05"], "web")
    snapshot = fleet_snapshot(reservations={"web": spec}, current=bound)
    shortage = explain(snapshot, 0, last_solve=None).shortage
    assert shortage is not None
    assert shortage.message.startswith("Needs 1 more hw-a; 0 free. Short of 1 of 5 RRU")
    assert f"It may take only servers within its limits ({words}" in shortage.message
    held = Coverage(
        servers=4,
        unavailable_servers=0,
        total_rru=4,
        worst_msb_rru=2,
        worst_msb="msb-00",
        shortfall_rru=1,
        survives_msb_loss=False,
    )
    free = snapshot.servers.id[snapshot.servers.target < 0]
    [finding] = findings_of(snapshot, snapshot.servers.target, free, {int(snapshot.reservations.id[0]): held})
    assert finding.message.startswith("Needs 1 more hw-a; 0 free. Short of 1 of 5 RRU")
    assert f"It may take only servers within its limits ({words}" in finding.message


def test_a_server_that_costs_more_in_datacenter_shares_than_it_mends_does_not_help() -> None:
    """1 RRU in each datacenter, 0.2 of 2.2 short. A third server would have 0.79 RRU outside a band of 0.99 to 1.21."""
    spec = ReservationSpec(
        capacity_rru=2.2, rru={"hw-a": 1.0}, survives_msb_loss=False, affinity={"dc-00": 0.5, "dc-01": 0.5}
    )
    bound = {"server-00": "web", "server-04": "web"}
    policy = RegionPolicy(affinity_cost=500.0, shortfall_cost=1000.0)
    snapshot = fleet_snapshot(datacenters=2, reservations={"web": spec}, current=bound, policy=policy)
    target, free = snapshot.servers.target, snapshot.servers.id[snapshot.servers.target < 0]
    held = Coverage(
        servers=2,
        unavailable_servers=0,
        total_rru=2,
        worst_msb_rru=1,
        worst_msb="msb-00",
        shortfall_rru=0.2,
        survives_msb_loss=False,
    )
    [finding] = findings_of(snapshot, target, free, {int(snapshot.reservations.id[0]): held})
    shortage = explain(snapshot, 0, last_solve=None).shortage
    assert shortage is not None
    for message in (finding.message, shortage.message):
        assert message.startswith("Needs 1 more hw-a; 0 free. Short of 0.2 of 2.2 RRU")
        assert "6 further free servers are of no use to it: outside its datacenter shares they would cost" in message
    assert finding.numbers["beyond_shares_servers"] == 6
    loose = ReservationSpec(capacity_rru=2.2, rru={"hw-a": 1.0}, survives_msb_loss=False, affinity={"dc-00": 0.5})
    snapshot = fleet_snapshot(datacenters=2, reservations={"web": loose}, current=bound, policy=policy)
    shortage = explain(snapshot, 0, last_solve=None).shortage
    assert shortage is not None
    assert shortage.message.startswith("Needs 1 more hw-a; 3 free."), "those of the other datacenter"
