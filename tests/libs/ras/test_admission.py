import numpy as np
import pytest

from libs.domain.fleet import DELETED, FREE, TargetPlan
from libs.domain.reservation import ReservationSpec
from libs.plan_check.check import check_plan
from libs.ras.admission import admit
from libs.ras.hard_limits import with_share
from libs.ras.solve import plan_target_bindings
from tests.builders.random_region import random_region, region
from tests.builders.region import fleet_snapshot


def one(capacity, servers, **rest):
    return admit(region(servers=servers, capacity=[capacity], **rest), 0)


SPREAD = [(0, 0), (1, 0), (2, 0)]


def test_free_servers_are_granted_with_a_plan_that_uses_them():
    verdict = one(2, SPREAD)
    assert (verdict.phase, verdict.reason) == ("granted", "Granted")
    assert verdict.plan.target.tolist() == [0, 0, 0]
    assert verdict.numbers["free_servers"] == 3


def test_a_server_that_goes_back_is_one_server_in_words():
    """3 servers of 2 RRU each stand for 2 RRU and the loss of any one MSB: one of them is too many."""
    servers = [(0, 0, 0), (1, 0, 0), (2, 0, 0)]
    verdict = one(2, servers, rru=[[2.0]])
    assert verdict.message == "2 servers cover 2 RRU and the loss of any one MSB; it holds them already. " + (
        "1 other goes back at once."
    )


def test_a_part_of_a_server_is_one_server_in_words():
    verdict = one(0.3, SPREAD, survives=[False])
    assert verdict.message == "1 server covers 0.3 RRU; the mover brings it."


def test_capacity_does_not_land_on_free_servers_that_a_drain_keeps_from_joining():
    """web has server-00. Of the free servers 01 and 04 are drained, so 3 RRU take two of the others."""
    drained = {"server-00", "server-01", "server-04"}
    spec = ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}, survives_msb_loss=False)
    snapshot = fleet_snapshot(maintained=drained, reservations={"web": spec}, current={"server-00": "web"})
    verdict = admit(snapshot, 0)
    assert (verdict.phase, verdict.numbers["free_servers"]) == ("granted", 2)
    for plan in (verdict.plan, plan_target_bindings(snapshot).plan):
        assert plan.target[[0, 1, 4]].tolist() == [0, FREE, FREE]
        assert (plan.target == 0).sum() == 3
    wrong = snapshot.servers.target.copy()
    wrong[1] = 0
    found = check_plan(snapshot, TargetPlan(target=wrong, parent_plan_id=snapshot.target_plan_id))
    assert [violation.reason for violation in found] == ["Drained"]


@pytest.mark.parametrize(
    ("capacity", "rest", "reason", "most"),
    [
        (4, {"survives": [False]}, "BeyondRegion", 3),
        (2.5, {}, "BeyondMsbLoss", 2),
        (1, {"rru": [[0.0]]}, "NoEligibleHardware", 0),
        (2, {"survives": [False], "affinity": [[0.0, 1.0]]}, "BeyondAffinity", 0),
        (3, {"survives": [False], "affinity": [[0.0, np.nan]]}, "BeyondAffinity", 1.15),
    ],
)
def test_what_the_region_cannot_give_is_rejected_with_what_it_could(capacity, rest, reason, most):
    verdict = one(capacity, SPREAD, **rest)
    assert (verdict.phase, verdict.reason, verdict.plan) == ("rejected", reason, None)
    assert verdict.numbers["most_rru"] == pytest.approx(most)
    assert verdict.numbers["asked_rru"] == capacity


def test_shares_that_are_too_low_without_a_buffer_say_so():
    verdict = one(2, SPREAD, survives=[False], affinity=[[0.4, 0.4]])
    assert "they add up to 0.8 of the capacity. Either multiply each share by 1.25, or" in verdict.message


SIX = {"msb_datacenter": (0, 0, 0, 1, 1, 1), "servers": [(m, 0) for m in range(6) for _ in range(4)]}


def test_shares_of_what_survives_an_msb_add_up_to_more_than_1():
    """Ten of twelve servers in six MSBs survive: 1.2 times the capacity, level over both datacenters."""
    verdict = admit(region(capacity=[10], affinity=[[0.6, 0.6]], **SIX), 0)
    assert (verdict.phase, verdict.reason) == ("granted", "Granted")
    assert np.bincount(verdict.plan.target + 1).tolist() == [12, 12]


@pytest.mark.parametrize(
    ("affinity", "message"),
    [
        (
            [0.5, 0.5],
            "add up to 1 of the capacity, but to keep 10 RRU without any one MSB it must hold 1.2 times that. "
            "Either multiply each share by 1.2, or leave dc-0 or dc-1 without a share.",
        ),
        (
            [1.5, np.nan],
            "dc-0 holds 12 RRU of what r0 may use; its share wants 15. Either lower that share to 1.25, or leave dc-0 "
            "without a share, or ask for at most 8.275 RRU.",
        ),
        (
            [0.0, np.nan],
            "Within its datacenter shares r0 could have 8.5 of 10 RRU. Either leave dc-0 without a share, or ask for "
            "at most 8.421 RRU.",
        ),
        ([1.0, 0.2], "Within its datacenter shares r0 could have 9.5 of 10 RRU. Leave dc-0 or dc-1 without a share."),
        ([1.5, 1.4], "Either lower that share to 1.25 and that of dc-1 to 1.25, or leave every datacenter"),
    ],
)
def test_shares_that_cannot_be_met_say_what_to_do(affinity, message):
    verdict = admit(region(capacity=[10], affinity=[affinity], **SIX), 0)
    assert (verdict.phase, verdict.reason) == ("rejected", "BeyondAffinity")
    assert message in verdict.message


@pytest.mark.parametrize(
    ("capacity", "affinity"),
    [
        (10, [0.6, 0.6]),
        (10, [1.25, np.nan]),
        (10, [1.25, 1.25]),
        (10, [np.nan, np.nan]),
        (10, [np.nan, 0.2]),
        (8.275, [1.5, np.nan]),
    ],
)
def test_the_ways_out_of_shares_are_granted(capacity, affinity):
    assert admit(region(capacity=[capacity], affinity=[affinity], **SIX), 0).phase == "granted"


def test_a_way_out_of_shares_is_said_to_be_one_of_sums():
    """The shares of 0.4563 and 0.5440 add up, but no two whole servers of dc-0 lie within the band of the first."""
    servers = SIX | {"survives": [False]}
    verdict = admit(region(capacity=[3.93], affinity=[[0.26, 0.31]], **servers), 0)
    assert (verdict.phase, verdict.reason) == ("rejected", "BeyondAffinity")
    assert "multiply each share by 1.755, or" in verdict.message
    assert verdict.message.endswith(". Whole servers may lie a little outside shares that remain.")
    after = admit(region(capacity=[3.93], affinity=[[0.26 * 1.755, 0.31 * 1.755]], **servers), 0)
    assert (after.phase, after.reason) == ("degraded", "OffAffinity")


def test_hard_limits_leave_fewer_ways_out_of_shares():
    """Three MSBs of dc-0 may have 0.2 of the capacity each, and its share wants 0.9."""
    snapshot = with_share(region(capacity=[10], affinity=[[0.9, 0.1]], **SIX), 0, 0.2)
    verdict = admit(snapshot, 0)
    assert (verdict.phase, verdict.reason) == ("rejected", "BeyondAffinity")
    assert "it must hold 1.2 times that. Leave every datacenter without a share. " in verdict.message
    fewer = with_share(region(capacity=[10], **SIX), 0, 0.2)
    assert admit(fewer, 0).phase == "granted"


def test_what_others_hold_degrades_with_numbers_and_touches_nobody():
    """One free server lies in each of two MSBs. Outside either of them two servers are needed, and one is free."""
    servers = [(0, 0, 1, True), (1, 0, 1), (2, 0, 1), (0, 0), (1, 0)]
    snapshot = region(servers=servers, capacity=[2, 0])
    verdict = admit(snapshot, 0)
    assert (verdict.phase, verdict.reason) == ("degraded", "TooFewFreeServers")
    assert verdict.message.startswith("Needs at least 2 more hw-0 outside msb-")
    assert "; 1 free." in verdict.message
    assert (verdict.numbers["needed_servers"], verdict.numbers["free_servers"], verdict.numbers["short_rru"]) == (
        2,
        1,
        1,
    )
    assert verdict.plan.target.tolist() == [1, 1, 1, 0, 0]


def test_a_refusal_of_far_too_much_names_what_remains_to_the_last_server():
    """4 MSBs have 10 servers each. The bisection of 1e12 RRU once stopped at 29.8."""
    snapshot = region(
        msb_datacenter=(0, 0, 1, 1), servers=[(m, 0) for m in range(4) for _ in range(10)], capacity=[1e12]
    )
    verdict = admit(snapshot, 0)
    assert (verdict.phase, verdict.reason) == ("rejected", "BeyondRegion")
    assert "Of these 30 RRU remain after the loss of any one MSB. Ask for at most these" in verdict.message


def test_nothing_free_degrades():
    """1 RRU that survives the loss of an MSB takes 2 servers."""
    verdict = admit(region(servers=[(0, 0, 1), (1, 0, 1)], capacity=[1, 0]), 0)
    assert (verdict.phase, verdict.reason) == ("degraded", "NoFreeServers")
    assert verdict.message.startswith("Needs at least 1 more hw-0; 0 free.")


def test_outages_degrade_and_do_not_reject():
    verdict = one(2, [(0, 0), (1, 0, FREE, False, False), (2, 0)])
    assert verdict.phase == "degraded"


def test_capacity_off_its_datacenters_is_said():
    servers = [(0, 0), (1, 0), (2, 0, 1)]
    verdict = admit(
        region(servers=servers, capacity=[1, 0], survives=[False] * 2, affinity=[[np.nan, 1.0], [np.nan] * 2]), 0
    )
    assert (verdict.phase, verdict.reason) == ("degraded", "OffAffinity")
    assert "dc-1" in verdict.message


def test_servers_of_deleted_reservations_are_free():
    assert one(1, [(0, 0, DELETED), (1, 0, DELETED)]).phase == "granted"


def test_every_plan_of_a_busy_region_is_legal():
    snapshot = random_region(np.random.default_rng(4), 200, 8, msbs=5, types=3)
    for r in range(8):
        verdict = admit(snapshot, r)
        if verdict.plan is not None:
            assert check_plan(snapshot, verdict.plan) == []
            others = (snapshot.servers.target != r) & (snapshot.servers.target >= 0)
            assert np.array_equal(verdict.plan.target[others], snapshot.servers.target[others])


@pytest.mark.parametrize("scale", [1e-7, 1.0, 1e9])
def test_what_counts_as_short_does_not_depend_on_the_size_of_an_rru(scale):
    """An unmet promise of 5e-7 RRU is short, also for a solve."""
    taken = {"servers": [(0, 0, 1), (1, 0, 1)], "survives": [False, False], "rru": [[scale], [scale]]}
    verdict = admit(region(capacity=[scale, 2 * scale], **taken), 0)
    assert (verdict.phase, verdict.numbers["short_rru"]) == ("degraded", pytest.approx(scale))
    assert one(scale, [(0, 0)], survives=[False], rru=[[scale]]).phase == "granted"


def test_a_grant_takes_no_more_than_it_needs():
    servers = [(m, t) for m in range(4) for t in range(2) for _ in range(6)]
    fleet = region(
        msb_datacenter=(0, 0, 1, 1), types=2, servers=servers, capacity=[9], rru=[[1.0, 2.0]], survives=[False]
    )
    assert admit(fleet, 0).numbers["free_servers"] == 5


def test_a_shrink_gives_servers_back_at_once_and_says_how_many():
    held = [(m, 0, 0) for m in (0, 1, 2) for _ in range(3)]
    verdict = one(2, held)
    assert (verdict.plan.target == 0).sum() == 3
    assert verdict.message.endswith("it holds them already. 6 others go back at once.")
    assert "They give 0.5 RRU more than it asks for" in one(1.5, held).message


def test_no_surplus_in_rru_of_the_host_is_told_to_a_guest():
    """Both servers give 32 of 20 RRU of the guest, and 1.5 of 1 RRU of its host."""
    host = ReservationSpec(capacity_rru=1.0, rru={"hw-a": 1.0}, survives_msb_loss=False)
    guest = ReservationSpec(
        capacity_rru=20.0, rru={"hw-a": 64.0}, survives_msb_loss=False, guest_of="index", guest_share=0.25
    )
    held = {"server-00": "index", "server-04": "index"}
    verdict = admit(fleet_snapshot(reservations={"index": host, "cache": guest}, current=held), 0)
    assert verdict.message == "2 servers cover 1 RRU and 20 RRU of its guest cache; it holds them already."


BLOCKS = {"network_block": {f"server-{i:02d}": f"block-{block}" for i, block in enumerate((0, 0, 0, 0, 1, 1, 2, 2))}}


def in_blocks(capacity_rru, **rest):
    spec = ReservationSpec(capacity_rru=capacity_rru, rru={"hw-a": 1.0}, survives_loss_of=("network_block",), **rest)
    return admit(fleet_snapshot(msbs=4, servers_per_rack=2, reservations={"web": spec}, domains=BLOCKS), 0)


def test_a_request_must_survive_the_loss_of_every_kind_that_it_names():
    """8 servers: 2 in each of four MSBs, and 4 in one of three blocks."""
    verdict = in_blocks(4)
    assert verdict.phase == "granted"
    assert "servers cover 4 RRU and the loss of any one MSB or network_block" in verdict.message
    verdict = in_blocks(5)
    assert (verdict.phase, verdict.reason, verdict.numbers["most_rru"]) == ("rejected", "BeyondDomainLoss", 4)
    assert verdict.message == (
        "4 RRU of what web may use are in network_block block-0; after losing them 4 of 5 RRU would be left. "
        "Ask for at most that, allow more types, or do without surviving the loss of a network_block."
    )
    assert in_blocks(7, survives_msb_loss=False).reason == "BeyondDomainLoss"


def test_a_share_of_an_msb_and_blocks_together_bound_what_is_possible():
    """One whole server in each of four MSBs (1.2 RRU). In two all are in block-0: 2 RRU are left without it."""
    verdict = in_blocks(4, msb_share_max=0.3)
    assert (verdict.phase, verdict.reason) == ("rejected", "BeyondHardLimits")
    assert verdict.numbers["most_rru"] == pytest.approx(2.0)


def test_a_refusal_names_a_capacity_that_is_not_rounded_up():
    """10 servers of 123,456.789 RRU are 1,234,567.89. Six digits would be 1,234,570, which is refused too."""
    free = [(0, 0)] * 10
    verdict = one(1_234_572, free, survives=[False], rru=[[123_456.789]])
    assert (verdict.phase, verdict.reason) == ("rejected", "BeyondRegion")
    assert verdict.message.startswith("All servers that r0 may use come to 1234567 of 1234572 RRU. Ask for at most")
    assert one(1_234_567, free, survives=[False], rru=[[123_456.789]]).phase == "granted"


def test_a_refusal_does_not_advise_to_ask_for_nothing():
    verdict = one(1, [(0, 0), (0, 0)], msb_datacenter=(0,))
    assert verdict.message.endswith(
        "after losing it 0 of 1 RRU would be left. Allow more types, or do without surviving an MSB."
    )
