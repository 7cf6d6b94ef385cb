"""The questions of an operator before acting."""

from dataclasses import replace

import pytest

from libs.domain.fleet import FREE, FleetSnapshot
from libs.domain.policy import RegionPolicy
from libs.interchange.region.write import dump_region
from libs.ras.evaluate import evaluate
from libs.ras.solve import plan_target_bindings
from tests.builders.pages_world import RRU
from tests.builders.region import region_image
from tests.questions.ask import Ask, Row, surviving_rru
from tests.questions.north import CACHE, DB

NORTH = {"cache": (8, CACHE, True), "db": (6, DB, False)}


def lacks(servers: list[Row], name: str, *, scale: float = 1.0, without: str | None = None) -> float:
    """Return what a reservation of north would lack by its targets, if it were larger or a rack were gone."""
    capacity, rru, survives = NORTH[name]
    held = [one for one in servers if one["target"] == name and one["rack"] != without]
    return max(0.0, scale * capacity - surviving_rru(held, rru, survives=survives))


def cost_of(snapshot: FleetSnapshot) -> float:
    """Solve a region, and return what its plan costs."""
    return evaluate(snapshot, plan_target_bindings(snapshot).plan.target).total


def test_33_whether_i_may_drain_a_rack_on_tuesday(ask: Ask) -> None:
    servers = ask.servers("north")
    time = ("--at", "2026-11-24T08:00", "--until", "2026-11-24T12:00", "--dry-run")
    of_db = next(one["rack"] for one in servers if one["current"] == "db")
    missing = 6 - sum(one["current"] == "db" and one["rack"] != of_db for one in servers)
    told = ask.cli("drain", "rack", of_db, "-r", "north", *time)
    assert (told["verdict"], told["short_rru"]) == ("refused", {"db": missing})
    empty = next(one["rack"] for one in servers if one["type"] == "hw-01")
    assert not [one for one in servers if one["rack"] == empty and one["current"]]
    assert ask.cli("drain", "rack", empty, "-r", "north", *time)["verdict"] == "now"
    body = {"region": "north", "scope": "rack", "scope_name": of_db, "kind": "planned", "reason": "new switch"}
    assert ask.write("POST", "/v1/unavailability-events?dry_run=true", body)["short_rru"] == {"db": missing}


def test_34_a_schedule_of_drains_that_breaks_no_promise(ask: Ask) -> None:
    """All racks of two MSBs in a week. Sums over single servers confirm each slot, and each rack that is left over."""
    servers = ask.servers("north")
    week = ("--msb", "msb-01", "--msb", "msb-02", "--each", "6h", "--within", "7d")
    told = ask.cli("drain-schedule", "-r", "north", *week)
    racks = {one["rack"]: one["msb"] for one in servers if one["msb"] in ("msb-01", "msb-02")}

    def short(gone: list[str]) -> dict[str, float]:
        """Return what each reservation that has servers in these racks would lack without them."""
        found = {}
        for name, (capacity, rru, _) in NORTH.items():
            held = [one for one in servers if one["current"] == name and one["well"]]
            left = [one for one in held if one["rack"] not in gone]
            lack = capacity - surviving_rru(left, rru, survives=False)
            if len(left) < len(held) and lack > 1e-6:
                found[name] = pytest.approx(lack)
        return found

    placed = [rack for slot in told["slots"] for rack in slot["racks"]]
    over = {one["rack"]: one["short_rru"] for one in told["unplaced"]}
    assert sorted([*placed, *over]) == sorted(racks)
    assert placed
    ends = ""
    for slot in told["slots"]:
        assert {racks[rack] for rack in slot["racks"]} == {slot["msb"]}
        assert slot["servers"] <= sum(one["msb"] == slot["msb"] for one in servers) / 4
        assert short(slot["racks"]) == {}
        assert ends <= slot["starts_at"]
        ends = slot["ends_at"]
        asked = ask.cli("drain", "rack", slot["racks"][0], "-r", "north", "--until", "2027-01-01T00:00", "--dry-run")
        assert asked["verdict"] == "now"
    for rack, lacking in over.items():
        assert lacking == short([rack]) != {}
    path = "/v1/regions/north/drain-schedule"
    assert ask.get(path, msb=["msb-01", "msb-02"], hours_each=6, within_hours=168)["unplaced"] == told["unplaced"]


def test_35_what_more_servers_would_be_worth_and_to_whom(ask: Ask) -> None:
    report = ask.simulate("west", "--add-rack", "msb-02:m5zn.metal:40")["report"]
    gains = {one["reservation"]: one["short_rru_at_once"] - one["short_rru_after"] for one in report["reservations"]}
    mended = report["cost"]["at_once"]["shortfall_rru"] - report["cost"]["after"]["shortfall_rru"]
    assert sum(gains.values()) == pytest.approx(mended)
    moved = {one["server"]: one["to_reservation"] for one in report["moves_shown"]}
    assert len(moved) == report["moves"]
    stay = {one["name"]: one for one in ask.servers("west")}
    new = [{"msb": "msb-02", "type": "m5zn.metal"} for name, to in moved.items() if name not in stay and to == "batch"]
    held = [one for one in stay.values() if one["up"] and moved.get(one["name"], one["target"]) == "batch"]
    [batch] = [one for one in report["reservations"] if one["reservation"] == "batch"]
    assert batch["total_rru_after"] == pytest.approx(surviving_rru([*held, *new], RRU, survives=False))
    assert gains["batch"] == max(gains.values())
    assert report["cost"]["after"]["total"] < report["cost"]["at_once"]["total"]


def test_36_where_the_next_delivery_should_go(ask: Ask) -> None:
    """One estimate for each MSB: more servers in the MSB that holds most do not help against its loss."""
    mine = [one for one in ask.servers("north") if one["target"] in (None, "cache") and one["well"]]
    most = surviving_rru(mine, CACHE) + 3
    lack = {}
    for msb in sorted({one["msb"] for one in mine}):
        asked = ("--demand", f"cache={most}", "--add-rack", f"{msb}:hw-05:3", "--dry-run")
        [told] = ask.cli("simulate", "north", *asked)["reservations"]
        lack[msb] = told["short_rru_with_free"]
        there = surviving_rru([*mine, *[{"msb": msb, "type": "hw-05"}] * 3], CACHE)
        assert lack[msb] == pytest.approx(most - there, abs=1e-6)
    assert [min(lack.values()), max(lack.values())] == pytest.approx([0, 3], abs=1e-6)


def test_37_what_if_all_of_a_type_is_retired(ask: Ask) -> None:
    told = ask.cli("simulate", "north", "--remove-type", "hw-04", "--dry-run")
    servers = [one for one in ask.servers("north") if one["type"] != "hw-04"]
    short = {name: lacks(servers, name) for name in NORTH}
    assert {one["reservation"]: one["short_rru_at_once"] for one in told["reservations"]} == pytest.approx(
        {name: lack for name, lack in short.items() if lack > 0}
    )
    assert told["with_free"]["shortfall_rru"] == 6  # db may use no other type


def test_38_what_another_price_of_moves_changes(ask: Ask) -> None:
    report = ask.simulate("north", "--policy", "move_cost_in_use=15")["report"]
    region = ask.exported("north")
    other = replace(region, policy=replace(region.policy, move_cost_in_use=15.0))
    assert report["cost"]["after"]["total"] == pytest.approx(cost_of(other), abs=1e-3)
    assert report["cost"]["now"]["total"] == pytest.approx(evaluate(region, region.servers.target).total)


def test_39_whether_an_owner_can_have_servers_until_friday(ask: Ask) -> None:
    free = [one for one in ask.servers("north") if one["target"] is None and one["well"] and one["type"] == "hw-06"]
    most = surviving_rru(free, {"hw-06": 1.0})
    friday = ("--type", "hw-06", "--ends-at", "2026-11-27", "--dry-run")
    for servers, phase in ((most, "granted"), (most + 1, "rejected")):
        asked = ("create", "burst", "-r", "north", "--owner", "bank", "--servers", int(servers), *friday)
        told = ask.cli(*asked, status=0 if phase == "granted" else 2)["status"]
        assert told["phase"] == phase
    now = {name: lacks(ask.servers("north"), name) for name in NORTH}
    assert now == pytest.approx({"cache": 0, "db": 0}, abs=1e-9)  # a grant takes free servers only


def test_40_what_i_can_no_longer_approve_after_this(ask: Ask) -> None:
    """Two requests compete for six free servers, and a third has a type of its own. Then the first is approved."""
    types = ("hw-01", "hw-04")
    image = region_image(
        "south", msbs=3, racks_per_msb=2, servers_per_rack=2, hardware_types=types, policy=RegionPolicy()
    )
    files = {file.partition(".")[0]: (file, content) for file, content in dump_region(image).items()}
    assert ask._http.post("/v1/regions/south/import", files=files).is_success
    ask.write("PUT", "/v1/regions/south/approval-limits", {"size_cost_units": 0.5}, **{"If-Match": '"0"'})
    for name, capacity, kind in (("first", 4, "hw-01"), ("second", 3, "hw-01"), ("other", 5, "hw-04")):
        spec = {"capacity_rru": capacity, "rru": {kind: 1.0}, "survives_msb_loss": False}
        ask.write("POST", "/v1/reservations", {"region": "south", "name": name, "owner": "lab", "spec": spec})
    ask.world.live(1)
    waiting = {one["reservation"]: one for one in ask.cli("approvals", "list", "-r", "south")}
    assert waiting.keys() == {"first", "second", "other"}
    told = ask.cli("approvals", "effects", waiting["first"]["approval_id"])
    assert told["phase"] == "granted"
    others = {one["reservation"]: one for one in told["items"]}
    assert {name: (one["phase_without"], one["phase_after"]) for name, one in others.items()} == {
        "second": ("granted", "degraded"),
        "other": ("granted", "granted"),
    }
    assert [one["reservation"] for one in told["items"] if one["lost"]] == ["second"]
    assert others["second"]["numbers"]["short_rru"] == pytest.approx(4 + 3 - 6)
    assert ask.get(f"/v1/approvals/{waiting['first']['approval_id']}/effects") == told
    for name in ("first", "second", "other"):
        ask.cli("approve", waiting[name]["approval_id"], "--reason", "agreed")
        ask.world.live(1)
    phases = {one["name"]: one["status"]["phase"] for one in ask.get("/v1/reservations", region="south")["items"]}
    assert phases == {"first": "granted", "second": "degraded", "other": "granted"}


def test_41_what_the_solver_did_not_prove(ask: Ask) -> None:
    listed = ask.cli("get", "solve-runs", "-w", "region=west")["items"]
    report = ask.cli("get", "solve-runs", listed[0]["solve_run_id"])["report"]
    bound, least = report["lower_bound"], report["least_penalty"]
    assert least <= bound <= report["total_without_rack"] + 1e-6
    if bound > least:  # else no more is proven, so the gap is not known
        assert report["gap"] == pytest.approx((report["total_without_rack"] - bound) / (bound - least), abs=1e-9)
    else:
        assert report["gap"] is None
    run = ask.get(f"/v1/solve-runs/{listed[0]['solve_run_id']}")
    assert run["report"]["proven"] is report["proven"]
    best = plan_target_bindings(ask.exported("north"))
    found = ask.simulate("north", "--policy", "buffer_cost=5")["report"]["solve"]  # as it is
    assert found["lower_bound"] <= evaluate(ask.exported("north"), best.plan.target).total + 1e-3


def test_42_which_constraint_costs_the_region_most(ask: Ask) -> None:
    cost = ask.simulate("north", "--policy", "buffer_cost=5")["report"]["cost"]["now"]
    region = ask.exported("north")
    held = [one for one in ask.servers("north") if one["target"] == "cache"]
    embedded = surviving_rru(held, CACHE, survives=False) - surviving_rru(held, CACHE)
    units = 1.0 / max(CACHE.values())  # a server of the best type is one cost unit
    assert cost["buffer"] == pytest.approx(region.policy.buffer_cost * embedded * units)
    terms = {name: cost[name] for name in ("stability", "rack_spread", "msb_spread", "buffer", "surplus", "affinity")}
    assert cost["total"] == pytest.approx(sum(terms.values()) + cost["short"])
    assert max(terms, key=terms.__getitem__) == "surplus"
    fewest = {"cache": -(-8 // 1.2), "db": 6}  # without the loss of an MSB
    count = {name: sum(one["target"] == name for one in ask.servers("north")) for name in NORTH}
    above = sum(count[name] - fewest[name] for name in NORTH)
    assert cost["surplus"] == pytest.approx(region.policy.surplus_cost * above, rel=0.2)
    assert (region.servers.target != FREE).sum() == sum(count.values())


def test_43_what_a_growth_of_all_breaks_first(ask: Ask) -> None:
    servers = ask.servers("north")
    for scale in (1.1, 2.0):
        told = ask.cli("simulate", "north", "--scale", scale, "--dry-run")
        lack = {name: lacks(servers, name, scale=scale) for name in NORTH}
        assert {one["reservation"]: one["short_rru_at_once"] for one in told["reservations"]} == pytest.approx(lack)
    most = max(one["short_rru_with_free"] for one in told["reservations"])
    assert most == told["reservations"][0]["short_rru_with_free"]
    assert told["with_free"]["shortfall_rru"] == 0  # all that is free would be enough
