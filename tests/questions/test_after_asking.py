"""The questions of an owner after asking for capacity."""

import math
from collections import Counter
from datetime import timedelta
from itertools import combinations

import pytest

from tests.builders.pages_world import RRU
from tests.questions.ask import Ask, Row, surviving_rru
from tests.questions.north import CACHE


def bound(ask: Ask, region: str, reservation: str, *, by: str = "target") -> list[Row]:
    """Return the servers of a reservation that are up."""
    return [one for one in ask.servers(region) if one[by] == reservation and one["up"]]


def reservation(ask: Ask, name: str) -> Row:
    [found] = ask.get("/v1/reservations", name=name)["items"]
    return ask.cli("get", "reservations", found["reservation_id"])


def test_09_why_it_is_only_degraded_and_what_it_is_short_of(ask: Ask) -> None:
    status = reservation(ask, "web")["status"]
    held = bound(ask, "west", "web")
    short = 24 - surviving_rru(held, RRU)
    assert status["target"]["shortfall_rru"] == pytest.approx(short)
    assert short > 0
    assert (status["granted_rru"], reservation(ask, "batch")["status"]["granted_rru"]) == (24, 0), "batch waits"
    assert "0 of the 240 RRU asked for are granted and so promised" in ask.text("history", "batch")
    assert "are granted" not in ask.text("history", "web")
    by_msb = Counter()
    for one in held:
        by_msb[one["msb"]] += RRU[one["type"]]
    worst, _ = by_msb.most_common(1)[0]
    told = ask.cli("explain", "web")["shortage"]
    assert f"outside {worst}; 0 free" in told["message"]
    assert told["numbers"]["short_rru"] == pytest.approx(short)
    named = told["message"].split(" more ")[1].split()[0]
    assert told["numbers"]["needed_servers"] == math.ceil((short - 1e-6) / RRU[named])


def test_10_who_holds_what_i_wait_for(ask: Ask) -> None:
    counts: dict[str, Counter] = {}
    for one in ask.servers("west"):
        if one["target"] not in (None, "web"):
            counts.setdefault(one["type"], Counter())[one["target"]] += 1
    types = ask.cli("explain", "web")["types"]
    assert {one["hardware_type"] for one in types} == set(RRU)
    for one in types:
        assert {holder["reservation"]: holder["servers"] for holder in one["holders"]} == counts[one["hardware_type"]]
    assert f"batch {counts['m5zn.metal']['batch']}, " in ask.text("explain", "web")


def test_11_the_smallest_change_that_would_be_granted(ask: Ask) -> None:
    asked = ask.cli("resize", "batch", "-r", "west", "--capacity", 240, "--dry-run")["status"]
    most = asked["numbers"]["coverable_rru"]
    assert most == pytest.approx(surviving_rru(bound(ask, "west", "batch"), RRU, survives=False))
    for capacity, phase in ((most, "granted"), (most + 0.5, "degraded")):
        told = ask.text("resize", "batch", "-r", "west", "--capacity", capacity, "--dry-run")
        assert f"would be {phase}" in told


def test_12_how_many_approvals_are_before_mine_and_how_long_they_take(ask: Ask) -> None:
    [mine] = [one for one in ask.cli("approvals", "list", "-r", "west") if one["reservation"] == "crawl"]
    listed = ask.get("/v1/approvals", region="west", status="pending")["items"]
    before = [one for one in listed if one["created_at"] < mine["created_at"]]
    [counted] = ask.rows(
        """SELECT count(*) FROM approvals JOIN regions USING (region_id) WHERE name = 'west' AND status = 'pending'
        AND approvals.created_at < :asked_at""",
        asked_at=mine["created_at"],
    )
    assert len(before) == counted["count"]
    figures = ask.cli("approvals", "figures")
    waits = ask.rows(
        """SELECT kind, status, percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM decided_at - created_at))
        AS median_s, count(*) FROM approvals WHERE decided_at IS NOT NULL GROUP BY kind, status"""
    )
    assert waits
    assert {(one["kind"], one["status"]): (one["median_s"], one["number"]) for one in figures["decided"]} == {
        (one["kind"], one["status"]): (pytest.approx(float(one["median_s"])), one["count"]) for one in waits
    }


def test_13_which_of_my_servers_are_there_and_which_arrive(ask: Ask) -> None:
    listed = ask.cli("get", "servers", "-w", "target=web", "--limit", 1000)["items"]
    there = {one["name"] for one in listed if one["current_reservation"] == "web"}
    truth = [one for one in ask.servers("west") if one["target"] == "web"]
    assert there == {one["name"] for one in truth if one["current"] == "web"}
    assert {one["name"] for one in listed} == {one["name"] for one in truth}
    arriving = sum(one["arriving"] for one in ask.get("/v1/regions/west/server-counts", reservation="web")["items"])
    assert arriving == len(truth) - len(there)
    held = reservation(ask, "web")["status"]["held_rru"]
    assert held == pytest.approx(surviving_rru(bound(ask, "west", "web", by="current"), RRU, survives=False))


def test_14_what_happens_to_me_if_an_msb_goes_now(ask: Ask) -> None:
    promised = {"web": 24, "index": 30, "ads/serving": 18, "batch": 0}
    for loss in ask.cli("get", "msb-losses", "-w", "region=west")["items"]:
        missing = {}
        for name in promised:
            held = bound(ask, "west", name, by="current")
            left = [one for one in held if one["msb"] != loss["msb"]]
            lacks = promised[name] - surviving_rru(left, RRU, survives=False)
            if len(left) < len(held) and lacks > 1e-6:
                missing[name] = (pytest.approx(lacks), promised[name])
        assert {one["reservation"]: (one["missing_rru"], one["granted_rru"]) for one in loss["short"]} == missing
    assert ask.get("/v1/regions/west/msb-losses")["items"][-1]["msb"] == loss["msb"]


def test_14_what_happens_to_me_if_a_network_block_goes_now(ask: Ask) -> None:
    told = ask.cli("get", "domain-losses", "-w", "region=west", "-w", "kind=network_block")["items"]
    places = ask.rows(
        """SELECT s.name, d.name AS block FROM server_domains JOIN servers s USING (server_id)
        JOIN domains d USING (domain_id) JOIN regions ON regions.region_id = s.region_id
        WHERE regions.name = 'west' AND d.kind = 'network_block'"""
    )
    block_of = {one["name"]: one["block"] for one in places}
    held = [one for one in ask.servers("west") if one["current"] == "web" and one["well"]]
    missing = {}
    for block in {block_of[one["name"]] for one in held}:
        left = [one for one in held if block_of[one["name"]] != block]
        lacks = 24 - surviving_rru(left, RRU, survives=False)
        if lacks > 1e-6:
            missing[block] = pytest.approx(lacks)
    of_web = [(loss["domain"], who) for loss in told for who in loss["short"] if who["reservation"] == "web"]
    assert {block: who["missing_rru"] for block, who in of_web} == missing != {}
    assert not any(who["survives"] for _, who in of_web), "web asks to survive an MSB alone"
    assert "KIND" in ask.text("get", "domain-losses", "-w", "region=west").splitlines()[0]


@pytest.mark.parametrize(("region", "names"), [("north", ("cache", "db")), ("west", ("web", "index", "batch"))])
def test_15_how_probable_it_is_that_i_stay_whole_this_month(ask: Ask, region: str, names: tuple[str, ...]) -> None:
    """Every loss of one and of two MSBs is tried on single servers, and the rates are counted in the events."""
    told = ask.cli("get", "chances", "-w", f"region={region}", "-w", "days=30")["items"]
    heading = ask.text("get", "chances", "-w", f"region={region}").splitlines()[0]
    assert "ASKED FOR" in heading
    assert "GRANTED" in heading, "a request that waits counts as far as it was granted"
    [seen] = ask.rows(
        """SELECT count(*) AS losses,
        coalesce(sum(extract(epoch FROM coalesce(ended_at, :now) - starts_at)), 0) AS down_s
        FROM unavailability_events JOIN regions USING (region_id)
        WHERE name = :region AND kind = 'unplanned' AND scope = 'msb'""",
        region=region,
        now=ask.world.platform.clock.now(),
    )
    assert {one["msb_losses"] for one in told} == {seen["losses"]}
    year_h = 365 * 24
    msbs = sorted({one["msb"] for one in ask.servers(region)})
    listed = ask.get("/v1/reservations", region=region, kind="guaranteed")["items"]
    specs = {one["name"]: one["spec"] for one in listed}
    promised = {name: 0.0 if name == "batch" else spec["capacity_rru"] for name, spec in specs.items()}
    assert {one["reservation"]: one["granted_rru"] for one in told} == promised
    for one in (one for one in told if one["reservation"] in names):
        watched_years = one["watched_days"] / 365
        rate_h = (seen["losses"] + 0.5) / (len(msbs) * watched_years + 0.5 / 0.02) / year_h
        assert one["losses_per_msb_year"] == pytest.approx(rate_h * year_h)
        down_h = (float(seen["down_s"]) / 3600 + 0.5 * 2) / (seen["losses"] + 0.5)
        assert one["down_hours"] == pytest.approx(down_h, rel=0.01)
        rru, promise = specs[one["reservation"]]["rru"], promised[one["reservation"]]
        held = [s for s in ask.servers(region) if s["current"] == one["reservation"] and s["well"]]

        def lacks(*lost: str, held: list[Row] = held, rru: Row = rru, promise: float = promise) -> bool:
            left = [s for s in held if s["msb"] not in lost]
            return surviving_rru(left, rru, survives=False) < promise - 1e-6

        if lacks():
            assert (one["chance"], one["missing_rru"] > 0) == (0, True)
            continue
        single = {msb for msb in msbs if lacks(msb)}
        pairs = [pair for pair in combinations([m for m in msbs if m not in single], 2) if lacks(*pair)]
        month_h = 30 * 24
        times = month_h * (rate_h * len(single) + 2 * rate_h**2 * one["down_hours"] * len(pairs))
        assert one["chance"] == pytest.approx(math.exp(-times))
    path = f"/v1/regions/{region}/chances"
    assert [one["reservation"] for one in ask.get(path, reservation=names[0])["items"]] == [names[0]]
    assert [one["chance"] for one in told] == sorted(one["chance"] for one in told)


def test_16_whether_i_was_below_my_promise(ask: Ask) -> None:
    told = ask.cli("history", "web", "--limit", 1000)
    records = ask.rows(
        """SELECT readiness_changes.* FROM readiness_changes JOIN reservations USING (reservation_id)
        JOIN regions USING (region_id) WHERE reservations.name = 'web' AND regions.name = 'west'
        ORDER BY from_at DESC"""
    )
    assert [one["reason"] for one in told["items"]] == [one["readiness"] for one in records]
    below = [one for one in told["items"] if one["reason"] == "CapacityLost"]
    assert below
    assert all(one["held_after_msb_loss_rru"] < one["capacity_rru"] == 24 for one in below)
    last = records[0]
    now = ask.rows("SELECT watched_until FROM readiness_watches JOIN regions USING (region_id) WHERE name = 'west'")
    since = (now[0]["watched_until"] - last["from_at"]) / timedelta(seconds=1)
    ready = last["ready_s"] + since * (last["readiness"] in ("Held", "SurvivesLoss"))
    assert told["availability_30d"] == pytest.approx(ready / (last["watched_s"] + since))


def test_16_histories_call_nothing_promised_that_waits(ask: Ask) -> None:
    heading = next(line for line in ask.text("history", "batch").splitlines() if line.startswith("FROM "))
    assert "ASKED FOR" in heading
    assert "GRANTED" in heading
    assert "PROMISED" not in heading
    told = ask.cli("history", "batch")["items"]
    assert {(one["granted_rru"], one["capacity_rru"]) for one in told} == {(0, 240)}
    assert " RRU asked for, granted or not; " in ask.text("history", "--region", "west")
    periods = ask.get("/v1/regions/west/history")["periods"]
    assert periods[-1]["capacity_rru"] - periods[-1]["granted_rru"] == pytest.approx(240)


def test_17_why_a_server_left_me_and_who_decided(ask: Ask) -> None:
    left = ask.rows(
        """SELECT servers.name, plan_id, plans.kind FROM plan_changes JOIN plans USING (plan_id)
        JOIN servers USING (server_id) JOIN reservations ON reservation_id = from_reservation_id
        WHERE reservations.name = 'web' AND to_reservation_id IS DISTINCT FROM from_reservation_id ORDER BY plan_id"""
    )
    assert {one["kind"] for one in left} == {"replacement", "solve"}
    for one in left:
        plans = ask.cli("get", "plans", "-w", f"server={one['name']}")["items"]
        assert (one["plan_id"], one["kind"]) in {(plan["plan_id"], plan["kind"]) for plan in plans}
        changes = ask.get(f"/v1/plans/{one['plan_id']}/changes", limit=1000)["items"]
        assert [c["from_reservation"] for c in changes if c["server"] == one["name"]] == ["web"]
        events = ask.cli("get", "unavailability-events", "-w", "region=west")["items"]
        failed = {event["scope_name"] for event in events if event["kind"] == "unplanned"}
        assert one["kind"] != "replacement" or one["name"] in failed
        solved = [plan["solve_run_id"] for plan in plans if plan["plan_id"] == one["plan_id"]]
        assert (solved != [None]) is (one["kind"] == "solve")


def test_18_why_this_hardware_mix(ask: Ask) -> None:
    told = ask.cli("explain", "cache")
    has = {one["hardware_type"]: one["servers"] for one in told["types"]}
    truth = Counter(one["type"] for one in ask.servers("north") if one["target"] == "cache")
    assert has == {"hw-04": truth["hw-04"], "hw-05": truth["hw-05"]}
    loss = next(one for one in told["deciders"] if one["name"] == "MsbLoss")
    assert loss["afresh"]["decides"] is True
    spare = [one for one in ask.servers("north") if one["target"] in (None, "cache") and one["well"]]
    best = sorted((CACHE.get(one["type"], 0.0) for one in spare), reverse=True)
    fewest = next(n for n in range(1, 20) if sum(best[:n]) >= 8)  # without the loss of an MSB
    without = sum(one["without_it"] - one["with_it"] for one in loss["afresh"]["changes"])
    assert told["servers"] + without == fewest < told["servers"]


def test_19_why_not_that_server(ask: Ask) -> None:
    theirs = next(one for one in ask.servers("north") if one["target"] == "db")
    told = ask.cli("explain", "db", "--server", theirs["name"], "--to", "cache")
    held = [one for one in ask.servers("north") if one["target"] == "db"]
    [move] = told["moves"]
    [lacks] = [one["after"]["shortfall_rru"] for one in move["affected"] if one["reservation"] == "db"]
    assert lacks == 6 - (len(held) - 1) == 1
    assert move["costs"] > 0
    assert f"{theirs['name']} may not be in cache: db would be short of 1 RRU" in told["summary"]


def test_20_what_of_mine_is_idle_and_who_wants_it(ask: Ask) -> None:
    idle = ask.cli("get", "servers", "-w", "current=index", "--limit", 1000)["items"]
    truth = {one["name"]: one for one in ask.servers("west") if one["current"] == "index" and not one["in_use"]}
    assert {one["name"] for one in idle if not one["in_use"]} == truth.keys() != set()
    one = next(one for one in truth.values() if one["target"] == "index" and one["up"])
    moves = ask.cli("explain", "index", "--server", one["name"])["moves"]
    wanting = {
        affected["reservation"]: affected["before"]["shortfall_rru"] - affected["after"]["shortfall_rru"]
        for move in moves
        for affected in move["affected"]
        if affected["reservation"] not in ("index", None)
    }
    assert wanting["batch"] == pytest.approx(RRU[one["type"]])


def test_21_which_servers_go_if_i_shrink(ask: Ask) -> None:
    report = ask.simulate("north", "--scale", "cache=0.7")["report"]
    held = {one["name"]: one for one in ask.servers("north") if one["target"] == "cache"}
    go = {one["server"] for one in report["moves_shown"] if one["from_reservation"] == "cache"}
    come = {one["server"] for one in report["moves_shown"] if one["to_reservation"] == "cache"}
    assert go <= held.keys()
    assert go
    left = [one for one in ask.servers("north") if one["name"] in (held.keys() - go) | come]
    assert surviving_rru(left, CACHE) >= 8 * 0.7 - 1e-9
    assert report["waves"]["seconds"] > 0
    [cache] = [one for one in report["waves"]["reservations"] if one["reservation"] == "cache"]
    assert (cache["loses"], cache["gains"]) == (len(go), len(come))
    smaller = ask.cli("resize", "cache", "-r", "north", "--capacity", 5.6, "--dry-run")["status"]["numbers"]
    assert smaller["cost_units"] >= len(held)  # the quota falls as servers leave, and not before


def test_22_what_is_on_loan_and_how_fast_it_is_back(ask: Ask) -> None:
    """An exchange lends servers only while it needs them. This one is made by hand, and taken back."""
    now = ask.world.platform.clock.now()
    lend = """UPDATE servers SET spare_for_reservation_id = borrows.reservation_id, spare_since = :now,
        spare_until = :now + interval '1 hour' FROM reservations borrows JOIN regions USING (region_id)
        WHERE regions.name = 'north' AND borrows.name = 'db' AND servers.server_id = :server"""
    server = next(one for one in ask.servers("north") if one["target"] == "cache")
    ask.change(lend, now=now, server=server["server_id"])
    [loan] = ask.cli("get", "loans", "-w", "region=north")["items"]
    assert (loan["server"], loan["home"], loan["reservation"]) == (server["name"], "cache", "db")
    assert loan["until"] == (now + timedelta(hours=1)).isoformat().replace("+00:00", "Z")
    assert ask.get("/v1/loans", region="north", reservation="db")["items"] == [loan]
    back = """UPDATE servers SET spare_for_reservation_id = NULL, spare_since = NULL, spare_until = NULL
        WHERE server_id = :server"""
    ask.change(back, server=server["server_id"])
    assert ask.cli("get", "loans", "-w", "region=north")["items"] == []
