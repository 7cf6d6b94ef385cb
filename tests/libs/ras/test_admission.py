import numpy as np
import pytest

from libs.domain.fleet import DELETED, FREE
from libs.plan_check.check import check_plan
from libs.ras.admission import admit
from tests.regions import random_region, region


def one(capacity, servers, **rest):
    return admit(region(servers=servers, capacity=[capacity], **rest), 0)


SPREAD = [(0, 0), (1, 0), (2, 0)]


def test_free_servers_are_granted_with_a_plan_that_uses_them():
    verdict = one(2, SPREAD)
    assert (verdict.phase, verdict.reason) == ("granted", "Granted")
    assert verdict.plan.target.tolist() == [0, 0, 0]
    assert verdict.numbers["free_servers"] == 3


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


def test_what_others_hold_degrades_with_numbers_and_touches_nobody():
    servers = [(0, 0, 1, True), (1, 0, 1), (2, 0, 1), (0, 0), (1, 0)]
    snapshot = region(servers=servers, capacity=[2, 0])
    verdict = admit(snapshot, 0)
    assert (verdict.phase, verdict.reason) == ("degraded", "TooFewFreeServers")
    assert verdict.message.startswith("Needs 3 more hw-0 outside msb-")
    assert "; 2 free." in verdict.message
    assert (verdict.numbers["needed_servers"], verdict.numbers["free_servers"], verdict.numbers["short_rru"]) == (
        3,
        2,
        1,
    )
    assert verdict.plan.target.tolist() == [1, 1, 1, 0, 0]


def test_nothing_free_degrades():
    verdict = admit(region(servers=[(0, 0, 1), (1, 0, 1)], capacity=[1, 0]), 0)
    assert (verdict.phase, verdict.reason) == ("degraded", "NoFreeServers")


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
