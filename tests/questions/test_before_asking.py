"""The questions of an owner before asking for capacity."""

from datetime import timedelta

import pytest

from libs.domain.reservation import ReservationSpec
from tests.questions.ask import Ask, solved_with_free, surviving_rru
from tests.questions.north import CACHE, DB, QUOTA, WEB

PROBE = ("create", "probe", "-r", "north", "--owner", "shop")


def dry_run(ask: Ask, *spec: object) -> dict:
    """Ask for a reservation without sending the request, and return the numbers of the answer."""
    return ask.cli(*PROBE, *spec, "--dry-run")["status"]["numbers"]


def free(ask: Ask) -> list[dict]:
    return [one for one in ask.servers("north") if one["target"] is None and one["well"]]


def test_01_how_much_of_a_type_could_i_get_now(ask: Ask) -> None:
    most = dry_run(ask, "--servers", 1, "--type", "hw-04")["coverable_rru"]
    assert most == surviving_rru(free(ask), DB) > 1
    region = ask.exported("north")
    for capacity, is_whole in ((most, True), (most + 1, False)):
        got = solved_with_free(region, "probe", ReservationSpec(capacity_rru=capacity, rru=DB))
        assert (surviving_rru(got, DB) >= capacity) is is_whole
    assert f"could cover at most {most:g} RRU now" in ask.text(*PROBE, "--servers", 1, "--type", "hw-04", "--dry-run")


def test_02_the_largest_reservation_of_my_class_that_is_granted_whole(ask: Ask) -> None:
    most = dry_run(ask, "--class", "web", "--capacity", 1)["coverable_rru"]
    assert most == pytest.approx(surviving_rru(free(ask), WEB))
    got = solved_with_free(ask.exported("north"), "probe", ReservationSpec(capacity_rru=most, rru=WEB))
    assert surviving_rru(got, WEB) == pytest.approx(most)
    phases = []
    for capacity in (most, most + 0.1):
        spec = {"capacity_rru": capacity, "workload_class": "web"}
        body = {"kind": "create", "region": "north", "reservation": "probe", "owner": "bank", "spec": spec}
        phases.append(ask.write("POST", "/v1/capacity-requests?dry_run=true", body)["status"]["phase"])
    assert (phases[0], phases[1] == "granted") == ("granted", False)


def test_03_how_much_more_with_a_second_type(ask: Ask) -> None:
    one = dry_run(ask, "--servers", 1, "--type", "hw-04")["coverable_rru"]
    both = dry_run(ask, "--servers", 1, "--type", "hw-04", "--type", "hw-05")["coverable_rru"]
    spare, alike = free(ask), {"hw-04": 1.0, "hw-05": 1.0}
    assert both - one == surviving_rru(spare, alike) - surviving_rru(spare, DB) > 0
    got = solved_with_free(ask.exported("north"), "probe", ReservationSpec(capacity_rru=both, rru=alike))
    assert surviving_rru(got, alike) == both


def test_04_when_deliveries_and_retirements_make_more_possible(ask: Ask) -> None:
    now = ask.world.platform.clock.now()
    due, leaves = now + timedelta(days=30), now + timedelta(days=10)
    rows = [{"region": "north", "server_type": "hw-06", "servers": 20, "due_at": due.isoformat()}]
    ask.write("PUT", "/v1/planning-inputs/deliveries", {"rows": rows}, **{"If-Match": '"0"'})
    ask.cli("decommission", "rack", "rack-23", "-r", "north", "--at", leaves.strftime("%Y-%m-%dT%H:%M:%S"))
    stock = [one for one in ask.servers("north") if one["type"] == "hw-06"]
    leaving = sum(one["rack"] == "rack-23" for one in stock)
    assert leaving == 3
    for days, expected in ((0, len(stock)), (11, len(stock) - leaving), (31, len(stock) - leaving + 20)):
        at = (now + timedelta(days=days)).isoformat()
        typed = at.removesuffix("+00:00")
        [found] = [
            one
            for one in ask.cli("get", "supply", "-w", "region=north", "-w", f"at={typed}")["items"]
            if one["hardware_type"] == "hw-06"
        ]
        assert (found["usable"], found["region"]) == (expected, "north")
        [same] = [
            one
            for one in ask.get("/v1/regions/north/supply", at=at)["hardware_types"]
            if one["hardware_type"] == "hw-06"
        ]
        assert same.items() <= found.items()
    ask.cli("decommission", "rack", "rack-23", "-r", "north", "--cancel")


def test_05_its_cost_and_what_is_left_of_my_quota(ask: Ask) -> None:
    numbers = dry_run(ask, "--servers", 5, "--type", "hw-01")
    [used] = ask.rows(
        """SELECT count(*) AS servers FROM servers JOIN reservations ON reservation_id = target_reservation_id
        JOIN regions ON regions.region_id = servers.region_id
        WHERE regions.name = 'north' AND owner = 'shop' AND deleted_at IS NULL"""
    )
    # Five survive in six MSBs if each has one: six servers, of one cost unit each. cache may hold its worst case.
    assert numbers["cost_units"] == 6
    quota = ask.cli("quota", "shop", "-r", "north")
    assert numbers["quota_left_cost_units"] == QUOTA - quota["used_cost_units"] - 6
    assert used["servers"] <= quota["used_cost_units"]
    said = ask.text(*PROBE, "--servers", 5, "--type", "hw-01", "--dry-run")
    assert f"It would count 6 cost units; its owner's quota would have {numbers['quota_left_cost_units']:g}" in said
    room = numbers["quota_left_cost_units"] + 6
    for capacity, is_within in ((room, True), (room + 1, False)):
        spec = {"capacity_rru": capacity, "rru": {"hw-01": 1}, "survives_msb_loss": False}
        body = {"kind": "create", "region": "north", "reservation": "probe", "owner": "shop", "spec": spec}
        answer = ask.write("POST", "/v1/capacity-requests?dry_run=true", body)["status"]
        assert (answer["reason"] != "QuotaExceeded") is is_within


def test_06_whether_it_needs_an_approval_and_why(ask: Ask) -> None:
    ask.cli("limits", "north", "--size-cost-units", 4)
    limit = ask.rows(
        "SELECT size_rru AS size_cost_units FROM approval_limits JOIN regions USING (region_id) WHERE name = 'north'"
    )
    for servers, phase in ((2, "granted"), (5, "awaiting_approval")):
        asked = ask.cli(*PROBE, "--servers", servers, "--type", "hw-01", "--dry-run")["status"]
        assert asked["phase"] == phase
        assert (asked["numbers"]["cost_units"] > limit[0]["size_cost_units"]) is (phase == "awaiting_approval")
    assert "Waits for an operator: 6 cost units are above the 4 that need no approval" in asked["message"]
    ask.cli("limits", "north", "--none")
    assert ask.cli(*PROBE, "--servers", 5, "--type", "hw-01", "--dry-run")["status"]["phase"] == "granted"


def test_07_whether_anybody_would_lose_something(ask: Ask) -> None:
    found = ask.simulate("north", "--demand", "cache=12")["report"]
    before, after = ask.servers("north"), {}
    moved = {one["server"]: one["to_reservation"] for one in found["moves_shown"]}
    assert len(moved) == found["moves"] > 0
    for name, rru, capacity, survives in (("cache", CACHE, 12, True), ("db", DB, 6, False)):
        held = [one for one in before if moved.get(one["name"], one["target"]) == name]
        after[name] = surviving_rru(held, rru, survives=survives)
        assert after[name] >= capacity
    losers = {one["reservation"] for one in found["reservations"] if one["short_rru_after"] > 0}
    assert losers == set()
    asked = ask.cli("resize", "cache", "-r", "north", "--capacity", 12, "--dry-run")["status"]
    assert asked["phase"] == "granted"  # by free servers alone: no server of db moves
    assert asked["numbers"]["coverable_rru"] >= 12


def test_08_what_i_give_up_without_surviving_an_msb(ask: Ask) -> None:
    held = [one for one in ask.servers("north") if one["target"] == "cache"]
    buffer = surviving_rru(held, CACHE, survives=False) - surviving_rru(held, CACHE)
    [cache] = ask.get("/v1/reservations", region="north", name="cache")["items"]
    assert cache["status"]["embedded_buffer_rru"] == pytest.approx(buffer) != 0
    without = ask.text("resize", "cache", "-r", "north", "--no-survive-msb-loss", "--dry-run")
    fewest = -(-8 // 1.2)  # servers of the larger worth
    assert f"{len(held) - fewest:.0f} others go back at once" in without
    numbers = ask.cli("resize", "cache", "-r", "north", "--no-survive-msb-loss", "--dry-run")["status"]["numbers"]
    spare = [one for one in ask.servers("north") if one["target"] in (None, "cache")]
    assert numbers["coverable_rru"] == pytest.approx(surviving_rru(spare, CACHE, survives=False))
