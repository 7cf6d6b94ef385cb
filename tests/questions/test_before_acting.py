"""The questions of an operator before acting."""

from dataclasses import replace

import pytest

from libs.domain.fleet import FREE, FleetSnapshot
from libs.ras.evaluate import evaluate
from libs.ras.solve import plan_target_bindings
from tests.builders.pages_world import RRU
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
    assert sorted(set(lack.values())) == pytest.approx([0, 3])


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
    assert now == {"cache": 0, "db": 0}  # a grant takes free servers only


def test_41_what_the_solver_did_not_prove(ask: Ask) -> None:
    listed = ask.cli("get", "solve-runs", "-w", "region=west")["items"]
    report = ask.cli("get", "solve-runs", listed[0]["solve_run_id"])["report"]
    bound, least = report["lower_bound"], report["least_penalty"]
    assert report["gap"] == pytest.approx((report["total_without_rack"] - bound) / (bound - least), abs=1e-9)
    assert bound <= report["total_without_rack"] + 1e-6
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
