"""The questions of an operator, every day."""

import math
from collections import Counter
from datetime import timedelta

import pytest

from tests.builders.pages_world import RRU
from tests.questions.ask import Ask, surviving_rru
from tests.questions.north import CACHE


def test_23_what_is_amiss(ask: Ask) -> None:
    told = ask.cli("status", "west")
    conditions = ask.rows(
        """SELECT type FROM region_conditions JOIN regions USING (region_id)
        WHERE name = 'west' AND region_conditions.status = 'False'"""
    )
    assert {one["type"] for one in conditions} <= {one["type"] for one in told["amiss"]} != set()
    short = dict.fromkeys(("web", "index", "ads/serving", "batch"), RRU)
    promised = {one["name"]: one["spec"] for one in ask.get("/v1/reservations", region="west")["items"]}
    lacks = {}
    for name, rru in short.items():
        held = [one for one in ask.servers("west") if one["target"] == name and one["up"]]
        lack = promised[name]["capacity_rru"] - surviving_rru(held, rru, survives=promised[name]["survives_msb_loss"])
        if lack > 1e-6:
            lacks[name] = lack
    assert {name for name in told["short"] if not name.startswith("shared-")} == lacks.keys() != set()
    assert told["pending_approvals"]


def test_24_what_changed_since_yesterday_and_by_whom(ask: Ask) -> None:
    since = ask.world.platform.clock.now() - timedelta(days=1)
    told = ask.cli("get", "audit-entries", "-w", f"since={since.isoformat()}", "--limit", 1000)["items"]
    truth = ask.rows("SELECT actor, action, count(*) FROM audit_entries WHERE at >= :since GROUP BY 1, 2", since=since)
    counted = Counter((one["actor"], one["action"]) for one in told)
    assert counted == {(one["actor"], one["action"]): one["count"] for one in truth}
    assert {actor for actor, _ in counted} >= {"ann", "first-admin"}


def test_25_who_is_short_and_what_would_mend_it(ask: Ask) -> None:
    listed = ask.cli("get", "reservations", "-w", "region=west", "-w", "short=true")["items"]
    short = {one["name"]: one["status"]["target"]["shortfall_rru"] for one in listed}
    said = ask.text("status", "west")
    assert f"batch ({short['batch']:,.4g} RRU, 0 of 240 granted)" in said
    assert f"web ({short['web']:,.4g} RRU)" in said
    assert " hold what they ask for now: " in said
    assert "ASKED FOR" in next(line for line in said.splitlines() if line.startswith("RESERVATION "))
    assert "promised" not in said.lower(), "batch is in these figures, and waits"
    held = [one for one in ask.servers("west") if one["target"] == "batch" and one["up"]]
    assert short["batch"] == pytest.approx(240 - surviving_rru(held, RRU, survives=False))
    mend = ask.cli("simulate", "west", "--policy", "buffer_cost=1", "--dry-run")
    [batch] = [one for one in mend["reservations"] if one["reservation"] == "batch"]
    kind, number = batch["missing_hardware_type"], batch["missing_servers"]
    assert RRU[kind] * (number - 1) < short["batch"] - 1e-6 <= RRU[kind] * number
    added = ask.simulate("west", "--add-rack", f"msb-01:{kind}:{number}")["report"]
    [batch] = [one for one in added["reservations"] if one["reservation"] == "batch"]
    assert batch["short_rru_after"] <= short["batch"]


def test_26_how_many_servers_are_free_by_type_and_msb(ask: Ask) -> None:
    told = ask.cli("get", "server-counts", "-w", "region=north")["items"]
    truth = Counter((one["msb"], one["type"]) for one in ask.servers("north") if one["target"] is None and one["well"])
    assert {(one["msb"], one["hardware_type"]): one["free"] for one in told if one["free"]} == truth
    assert told[0].keys() >= ask.get("/v1/regions/north/server-counts")["items"][0].keys()


def test_27_how_much_is_buffer_and_how_much_is_needed(ask: Ask) -> None:
    ask.write("POST", "/v1/solve-runs", {"region": "north"})
    ask.world.platform.tick()
    buffers = ask.cli("get", "solve-runs", "-w", "region=north")["items"][0]["report"]["buffers"]
    held = [one for one in ask.servers("north") if one["target"] == "cache"]
    most = surviving_rru(held, CACHE, survives=False) - surviving_rru(held, CACHE)
    assert buffers["embedded_rru"] == pytest.approx(most)
    assert buffers["embedded_rru"] == pytest.approx(ask.get("/v1/regions/north/summary")["embedded_buffer_rru"])
    # Each MSB has three servers of hw-04 and of hw-05, so the most even spread of 8 RRU has a fifth of them in each.
    assert buffers["least_embedded_rru"] == pytest.approx(8 / 5)


def test_28_which_msb_hurts_most(ask: Ask) -> None:
    told = ask.cli("get", "msb-losses", "-w", "region=north")["items"]
    promised = {"cache": (8, CACHE), "db": (6, {"hw-04": 1.0})}
    worst = {}
    for msb in {one["msb"] for one in ask.servers("north")}:
        worst[msb] = 0.0
        for name, (capacity, rru) in promised.items():
            held = [one for one in ask.servers("north") if one["current"] == name]
            left = surviving_rru([one for one in held if one["msb"] != msb], rru, survives=False)
            worst[msb] += max(0.0, capacity - left)
    assert {one["msb"]: one["missing_rru"] for one in told} == pytest.approx(worst)
    assert max(worst.values()) == 3
    assert {who["reservation"] for one in told for who in one["short"]} == {"db"}


def test_29_which_shared_buffer_runs_out_first(ask: Ask) -> None:
    told = ask.cli("get", "spares", "-w", "region=west")["items"]
    assert told == [one | {"region": "west", "watched_days": told[0]["watched_days"]} for one in told]
    servers = ask.servers("west")
    events = ask.rows(
        """SELECT servers.name, ended_at IS NOT NULL AS is_over
        FROM unavailability_events JOIN servers USING (server_id)
        JOIN regions ON regions.region_id = unavailability_events.region_id
        WHERE regions.name = 'west' AND unavailability_events.kind = 'unplanned' AND scope = 'server'
          AND starts_at > regions.created_at"""
    )
    kind_of = {one["name"]: one["type"] for one in servers}
    failed = Counter(kind_of[event["name"]] for event in events)
    over = Counter(kind_of[event["name"]] for event in events if event["is_over"])
    found = ask.get("/v1/reservations", region="west", kind="shared_buffer", limit=1000)["items"]
    buffers = {one["name"]: next(iter(one["spec"]["rru"])) for one in found}
    usable = Counter(one["type"] for one in servers if one["target"] in buffers and one["well"])
    assert {one["hardware_type"]: one["usable"] for one in told} == {kind: usable[kind] for kind in buffers.values()}
    assert failed.total() > 0
    for one in told:
        per_day = failed[one["hardware_type"]] / one["watched_days"]
        assert one["failures_per_day"] == pytest.approx(per_day)
        assert (one["repair_days"] is None) == (over[one["hardware_type"]] == 0)
        if one["repair_days"] is None and per_day:
            assert one["runs_out_days"] == pytest.approx(one["usable"] / per_day)
    days = [math.inf if one["runs_out_days"] is None else one["runs_out_days"] for one in told]
    assert days == sorted(days)
    assert days[0] < math.inf
    assert ask.get("/v1/regions/west/spares")["items"][0]["hardware_type"] == told[0]["hardware_type"]


def test_30_moves_and_preemptions_against_the_budget(ask: Ask) -> None:
    told = ask.cli("status", "west")["churn"]
    started = ask.rows(
        """SELECT from_reservation_id, count(*) FROM moves JOIN regions USING (region_id)
        WHERE regions.name = 'west' AND from_reservation_id IS NOT NULL GROUP BY 1"""
    )
    listed = ask.cli("get", "moves", "-w", "region=west", "--limit", 1000)["items"]
    leave = [one for one in listed if one["from_reservation"] is not None]
    assert len(leave) == sum(one["count"] for one in started) > 0
    in_use = sum(one["in_use"] for one in ask.servers("west"))
    assert told["most"] == max(1, int(0.01 * in_use))
    assert told["planned"] <= told["most"]
    assert ask.get("/v1/regions/west/summary")["churn"] == told


def test_31_what_waits_for_me_and_since_when(ask: Ask) -> None:
    told = ask.cli("approvals", "figures")["waiting"]
    truth = ask.rows("SELECT kind, count(*), min(created_at) FROM approvals WHERE status = 'pending' GROUP BY kind")
    assert {one["kind"]: one["number"] for one in told} == {one["kind"]: one["count"] for one in truth}
    oldest = {one["kind"]: one["oldest_at"] for one in told}
    assert oldest == {one["kind"]: one["min"].isoformat().replace("+00:00", "Z") for one in truth}
    assert len(ask.get("/v1/approvals", status="pending")["items"]) == sum(one["number"] for one in told)


def test_32_which_moves_are_stuck_and_on_what(ask: Ask) -> None:
    told = {one["reservation"]: one for one in ask.cli("get", "waits", "-w", "region=west")["items"]}
    truth = ask.rows(
        """SELECT reservations.name, count(*) FROM departure_waits JOIN servers USING (server_id)
        JOIN reservations ON reservations.reservation_id = current_reservation_id GROUP BY 1"""
    )
    assert {name: one["servers"] for name, one in told.items()} == {one["name"]: one["count"] for one in truth} != {}
    causes = ask.rows(
        """SELECT reservations.name, waits_for, min(departure_waits.since) AS since FROM reservation_waits
        JOIN reservations USING (reservation_id) JOIN departure_waits USING (reservation_id) GROUP BY 1, 2"""
    )
    since = {one["name"]: (one["waits_for"], one["since"].isoformat().replace("+00:00", "Z")) for one in causes}
    assert {name: (one["waits_for"], one["since"]) for name, one in told.items()} == since
    assert ask.get("/v1/waits", region="west")["items"]
