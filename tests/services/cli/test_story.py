"""Run the command line against a platform of its own, in order. Each command is a process."""

import json
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from libs.domain.reservation import ReservationSpec
from libs.interchange.region.write import save_region
from services.cli.columns import COLUMNS
from services.cli.main import COMMANDS
from tests.builders.command_line import Plimsoll
from tests.builders.region import region_image

SPEC = ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0})


def until(ask: Callable[[], str], wanted: str) -> str:
    """Ask until the answer has the wanted text, for at most four minutes."""
    end = time.monotonic() + 240
    while wanted not in (answer := ask()) and time.monotonic() < end:
        time.sleep(0.5)
    return answer


def document(done: subprocess.CompletedProcess[str]) -> dict:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def held_by(plimsoll: Plimsoll, reservation: str) -> int:
    """Return the number of servers whose current reservation is `reservation`."""
    servers = document(plimsoll("get", "servers", "-o", "json"))["items"]
    return sum(server["current_reservation"] == reservation for server in servers)


def test_it_is_ready_once_its_workers_are(platform: dict[str, str]) -> None:
    state = Path(platform["PLIMSOLL_STATE_DIR"])
    told = until((state / "up.log").read_text, "ready at http")
    assert "while workers still load" in told.partition("ready at http")[0]
    assert {one.name for one in (state / "alive").iterdir()} == {"worker", "mover", "scheduler", "solver", "planner"}


def test_a_region_from_import_to_export(plimsoll: Plimsoll, tmp_path: Path) -> None:
    for name in ("west", "east"):
        image = region_image(name, msbs=4, servers_per_rack=6, reservations={"old": SPEC}, current={"server-00": "old"})
        save_region(image, tmp_path / name)
        assert plimsoll("import", tmp_path / name).returncode == 0
    again = plimsoll("import", tmp_path / "west")
    assert (again.returncode, "no difference" in again.stdout) == (0, True), again.stderr

    created = plimsoll("create", "web", "-r", "west", "--owner", "a", "--count", 6, "-t", "hw-a")
    assert created.returncode == 0, created.stderr

    told = until(lambda: plimsoll("history", "web").stdout, " Held ")  # the mover may be seen half way
    assert " Held " in told
    told = until(lambda: plimsoll("history", "web").stdout, "web was whole for ")  # unknown in the very first moment
    assert "web was whole for " in told
    held = document(plimsoll("history", "web", "-o", "json"))
    assert [one["reason"] for one in held["items"]][:1] == ["Held"], held
    assert 0 <= held["availability_30d"] <= 1
    assert "hold what they ask for now: " in plimsoll("status", "west").stdout

    why = plimsoll("explain", "web")
    assert "web needs 6 RRU whichever MSB is lost, and its targets give" in why.stdout, why.stderr
    assert document(plimsoll("explain", "web", "-o", "json"))["servers"] >= 6
    mine = [s for s in document(plimsoll("get", "servers", "-o", "json"))["items"] if s["target_reservation"] == "web"]
    moved = plimsoll("explain", "web", "--server", mine[0]["name"], "--to", "free")
    assert "web would be short of 1 RRU" in moved.stdout, moved.stderr
    spare = next(s for s in document(plimsoll("get", "servers", "-o", "json"))["items"] if not s["target_reservation"])
    idle = plimsoll("explain", "--server", spare["server_id"])
    assert f"{spare['name']} is best where it is, free." in idle.stdout, idle.stderr
    assert plimsoll("explain", "--server", spare["name"]).returncode == 1, "two regions have a server of this name"
    named = plimsoll("explain", "--region", spare["region"], "--server", spare["name"])
    assert named.stdout == idle.stdout, named.stderr
    assert plimsoll("explain").returncode == 1, "neither a reservation nor a server is named"
    racks = ("--add-rack", "msb-00:hw-a:4:2")
    lost = plimsoll(
        "simulate", "west", "--lose-msb", "msb-03", "--scale", "web=1.5", "--policy", "buffer_cost=1", *racks
    )
    assert (lost.returncode, "servers would change hands" in lost.stdout) == (0, True), lost.stderr
    quick = plimsoll("simulate", "west", "--lose-msb", "msb-03", "--scale", "web=1.5", "--dry-run")
    assert (quick.returncode, "An estimate without a solve." in quick.stdout) == (0, True), quick.stderr
    fed = plimsoll(
        "simulate", "west", "--power-limit", "MSB:msb-00=900000:0.1", "--power-limit", "msb-01=5e5", "--dry-run"
    )
    assert (fed.returncode, "FREE AT ONCE KW" in fed.stdout, "810" in fed.stdout) == (0, True, True), fed.stderr
    sends = ("--traffic", "web=10", "--uplink-limit", "rack-00=5", "--uplink-limit", 15, "--dry-run")
    sent = plimsoll("simulate", "west", *sends)
    assert (sent.returncode, "racks above their uplinks: 0 by 0.0 Gbit/s now, " in sent.stdout) == (0, True), (
        sent.stderr
    )
    assert "rack-00" in sent.stdout
    estimate = document(plimsoll("simulate", "west", "--scale", "web=50", "--dry-run", "-o", "json"))
    web = estimate["reservations"][0]
    assert (web["reservation"], web["capacity_rru"] > web["most_rru"]) == ("web", True)
    assert f"more than {web['most_rru']:g} RRU" in plimsoll("simulate", "west", "--scale", "web=50", "--dry-run").stdout
    refused = plimsoll("simulate", "--apply", 1)
    assert (refused.returncode, "not_a_decision" in refused.stderr) == (1, True)
    assert "such as --demand web=20" in plimsoll("simulate", "west").stderr
    for wrong in (
        ("--scale", "web=much"),
        ("--add-rack", "msb-00"),
        ("--power-limit", "msb-00"),
        ("--uplink-limit", "rack-1="),
        ("--traffic", "web"),
        ("--policy", "b"),
    ):
        assert plimsoll("simulate", "west", *wrong).returncode == 1
    assert "granted" in created.stdout
    huge = plimsoll("create", "huge", "-r", "west", "--owner", "a", "--count", 600, "-t", "hw-a")
    assert (huge.returncode, "BeyondRegion" in huge.stdout) == (2, True)
    typo = plimsoll("create", "typo", "-r", "west", "--owner", "a", "--count", 1, "-t", "hw-b")
    assert (typo.returncode, "did you mean hw-a" in typo.stderr) == (1, True)
    dry = document(plimsoll("resize", "web", "-r", "west", "--count", 9, "--dry-run", "-o", "json"))
    assert dry["status"]["phase"] == "granted"
    assert document(plimsoll("get", "reservations", "web", "-o", "json"))["spec"]["capacity_rru"] == 6

    for name in ("east", "west"):  # each follows the run of its own region
        run = document(plimsoll("plan", name, "-o", "json"))
        assert (run["region"], run["error"]) == (name, None)
        assert run["status"] in ("committed", "unchanged")
    assert "error" not in plimsoll("plan", "west").stdout, "nothing went wrong"
    assert "There is no region wset. `plimsoll get regions` lists them." in plimsoll("status", "wset").stderr

    ordered = document(plimsoll("get", "reservations", "-w", "region=west", "--order", "-capacity_rru", "-o", "json"))
    sizes = [one["spec"]["capacity_rru"] for one in ordered["items"]]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]
    assert "must be one of name, owner" in plimsoll("get", "reservations", "--order", "size").stderr
    assert "no such field" in plimsoll("get", "servers", "--order", "name").stderr

    assert "there are more" in plimsoll("get", "servers", "--limit", 47).stderr
    assert plimsoll("get", "servers", "--limit", 48).stderr == ""
    drain = ("drain", "server", "server-01", "-r", "west")
    assert "would begin now: it takes 1 of the 6 servers of msb-00" in plimsoll(*drain, "--dry-run").stdout
    assert plimsoll("get", "unavailability-events").stdout.count("\n") == 1
    assert "has begun" in plimsoll(*drain, "--until", "2100-01-01").stdout
    later = plimsoll("drain", "msb", "msb-01", "-r", "west", "--at", "2100-01-31T08:00")
    assert (later.returncode, "msb-01 is refused: it takes 6 of the 6 servers" in later.stderr) == (1, True)
    later = plimsoll("drain", "server", "server-12", "-r", "west", "--at", "2100-01-31T08:00", "--until", "2100-02-01")
    assert "begins at 2100-01-31 08:00:00Z" in later.stdout
    again = plimsoll("drain", "server", "server-12", "-r", "west")
    assert "server-12 is also asked for by event 2" in again.stderr
    assert "event 3 is queued as number 1, about 2100-01-01 00:00:00Z:" in again.stdout
    assert "waits until maintenance of msb-00 ends" in again.stdout
    assert "queued" in plimsoll("get", "unavailability-events", "-w", "state=queued").stdout
    assert "have ended" in plimsoll("drain", "server", "server-12", "-r", "west", "--end").stdout
    nowhere = plimsoll("drain", "rack", "rack-99", "-r", "west").stderr
    assert "There is no rack west/rack-99. `plimsoll get servers` shows the place of each one." in nowhere
    assert "has ended" in plimsoll(*drain, "--end").stdout
    assert "no open planned event" in plimsoll(*drain, "--end").stdout
    assert "no open unplanned event" in plimsoll("failure", "rack", "rack-03", "-r", "west", "--end").stdout
    unknown = plimsoll("failure", "--domain", "network_block:block-03", "-r", "west").stderr
    assert "west has no kind of domain called network_block: it has datacenter, msb, rack, server" in unknown
    whole = ("drain", "msb", "msb-00", "-r", "west")
    assert "is allowed by override" in plimsoll(*whole, "--override", "breaker test").stdout
    assert "has ended" in plimsoll(*whole, "--end").stdout
    assert plimsoll("limits", "west", "--four-eyes").returncode == 0
    assert "waits for the approval of another person" in plimsoll(*whole, "--override", "again").stdout
    rejected = plimsoll("reject", 1, "--reason", "not today").stdout
    assert "approval 1 of maintenance of msb msb-00 in west is rejected" in rejected
    assert plimsoll("limits", "west", "--none").returncode == 0
    assert plimsoll("pause", "west", "--reason", "power work").stdout == "west is paused: power work\n"
    paused = document(plimsoll("get", "regions", "west", "-o", "json"))["conditions"]
    assert [(c["type"], c["reason"]) for c in paused if c["status"] == "False"] == [("Moving", "Paused")]
    assert plimsoll("get", "regions", "-w", "name=west").returncode == 1  # there is no such filter
    assert "Paused" in plimsoll("get", "regions").stdout
    amiss = plimsoll("status", "west")
    assert ("Moving: Paused." in amiss.stdout, amiss.stdout.count("\nhw-a ")) == (True, 1), amiss.stderr
    assert "west is solved every 1h, by default; " in amiss.stdout
    oftener = plimsoll("region", "west", "--solve-every", "30m", "--reason", "a busy week")
    assert "west is solved every 30m, as an operator chose; " in oftener.stdout, oftener.stderr
    assert document(plimsoll("get", "regions", "west", "-o", "json"))["solve_every_s"] == 1800.0
    assert "is solved every 30m, as an operator chose" in plimsoll("status", "west").stdout
    assert "is solved every 1h, by default" in plimsoll("region", "east").stdout
    refused = plimsoll("region", "west", "--solve-every", "30s")
    assert (refused.returncode, "solve_every_s: " in refused.stderr) == (1, True)
    assert plimsoll("region", "west", "--solve-every", "soon").returncode == 1
    assert document(plimsoll("region", "west", "--solve-every", "default", "-o", "json"))["period_s"] == 3600.0
    assert plimsoll("resume", "west", "--reason", "done").stdout == "west moves again\n"
    assert document(plimsoll("mover", "west", "--moves-max", 9, "--msb-moves-max", 3, "-o", "json"))["moves_max"] == 9
    kept = document(plimsoll("mover", "west", "--msb-moves-max", 4, "--defaults", "-o", "json"))
    assert (kept["moves_max"], kept["msb_moves_max"]) == (None, 4)
    assert document(plimsoll("get", "movers", "-w", "region=west", "-o", "json"))["items"] == [kept]
    for verb in ("retry", "skip"):
        assert "no move 999" in plimsoll("moves", verb, 999, "--reason", "by hand").stderr
    assert plimsoll("resize", "web", "-r", "west", "--count", 3).returncode == 0
    assert "web: deleted" in plimsoll("delete", "web", "-r", "west").stdout
    out = plimsoll("export", "west", "--out", tmp_path / "today")
    assert out.returncode == 0, out.stderr
    solved = plimsoll("solve", tmp_path / "today", "--out", tmp_path / "a.parquet")
    assert (solved.returncode, "no better answer exists (racks not counted)" in solved.stdout) == (0, True), (
        solved.stdout
    )


def test_lists_of_servers(plimsoll: Plimsoll, tmp_path: Path) -> None:
    nodes = tmp_path / "nodes.json"
    labels = {"topology.kubernetes.io/zone": "z-1", "topology.kubernetes.io/rack": "r-1"}
    items = [
        {"metadata": {"name": f"n-{i}", "labels": labels | {"node.kubernetes.io/instance-type": "hw-n"}}}
        for i in range(4)
    ]
    nodes.write_text(json.dumps({"items": items}))
    look = plimsoll("import", nodes, "-r", "kube", "--dry-run")
    assert "would be created with 4 servers in 1 rack, 1 MSB and 1 datacenter, of 1 hardware type" in look.stdout
    made = plimsoll("import", nodes, "-r", "kube")
    assert (made.returncode, "kube is imported" in made.stdout) == (0, True), made.stderr

    items[0]["metadata"]["labels"]["node.kubernetes.io/instance-type"] = "hw-m"
    items[3]["metadata"]["name"] = "n-4"
    nodes.write_text(json.dumps({"items": items}))
    look = plimsoll("import", nodes, "-r", "kube", "--prune", "--dry-run")
    assert (look.returncode, "nothing was changed" in look.stdout) == (0, True), look.stderr
    assert "kube: 1 new, 1 changed, 1 to leave the fleet" in look.stdout
    assert "type hw-n to hw-m" in look.stdout
    assert plimsoll("import", nodes, "-r", "kube", "-o", "json").returncode == 1  # it cannot ask
    alone = plimsoll("import", nodes, "-r", "kube")
    assert (alone.returncode, "no terminal to ask on" in alone.stderr) == (1, True)
    applied = document(plimsoll("import", nodes, "-r", "kube", "--prune", "--yes", "-o", "json"))
    assert (applied["status"], applied["counts"]["retire"]) == ("confirmed", 1)
    assert document(plimsoll("get", "imports", applied["import_id"], "-o", "json"))["status"] == "confirmed"
    assert plimsoll("get", "imports", 999).returncode == 1
    assert "confirmed" in plimsoll("get", "imports", "-w", "region=kube").stdout
    names = [item["name"] for item in document(plimsoll("get", "servers", "-w", "region=kube", "-o", "json"))["items"]]
    assert sorted(names) == ["n-0", "n-1", "n-2", "n-4"]

    at = ("--at", "2100-01-31T08:00", "--reason", "end of life")
    announced = plimsoll("decommission", "rack", "r-1", "-r", "kube", *at)
    assert (announced.returncode, "Empty" in announced.stdout) == (0, True), announced.stderr
    assert plimsoll("decommission", "rack", "r-1", "-r", "kube", *at).returncode == 1  # it is announced already
    assert "Cancelled" in plimsoll("decommission", "rack", "r-1", "-r", "kube", "--cancel").stdout
    refresh = document(plimsoll("refresh", "server", "n-1", "-r", "kube", "--to-type", "hw-m", *at[:2], "-o", "json"))
    assert (refresh["kind"], refresh["to_hardware_type"]) == ("refresh", "hw-m")


def test_the_catalogue_of_a_region(plimsoll: Plimsoll, tmp_path: Path) -> None:
    asked = plimsoll("rru", "set", "web", "-r", "west", "hw-a=1", "--reference", "hw-a", "--reason", "measured")
    assert (asked.returncode, "version 1 of class web changes hw-a 1 (new)" in asked.stdout) == (0, True), asked.stderr
    classes = ("-w", "status=pending", "-w", "kind=rru_class")
    [approval] = document(plimsoll("get", "approvals", *classes, "-o", "json"))["items"]
    assert f"plimsoll approve {approval['approval_id']}" in asked.stdout
    assert plimsoll("approve", approval["approval_id"], "--reason", "fine").returncode == 0
    listed = plimsoll("rru", "list", "-r", "west", "-o", "json")
    assert [(one["workload_class"], one["rru"]) for one in document(listed)["items"]] == [("web", {"hw-a": 1})]
    assert "hw-a" in plimsoll("rru", "list", "-r", "west").stdout
    assert "measured" in plimsoll("rru", "history", "web", "-r", "west").stdout
    would = plimsoll("create", "z", "-r", "west", "--owner", "a", "--class", "web", "--capacity", 1, "--dry-run")
    assert "would be granted" in would.stdout or "granted" in would.stdout, would.stderr
    unknown = plimsoll("create", "z", "-r", "west", "--owner", "a", "--class", "wbe", "--capacity", 1)
    assert (unknown.returncode, "did you mean web?" in unknown.stderr) == (1, True)
    (tmp_path / "classes.json").write_text(listed.stdout)
    copied = plimsoll("rru", "set", "web", "-r", "west", "--from", tmp_path / "classes.json", "-o", "json")
    assert document(copied)["change"] == {
        "workload_class": "web",
        "version": 2,
        "reference": "hw-a",
        "rru": {"hw-a": 1},
    }
    assert plimsoll("reject", document(copied)["approval_id"], "--reason", "the same").returncode == 0
    (tmp_path / "measured.csv").write_text("hardware_type,throughput\nhw-a,90\nhw-a,110\n")
    fitted = plimsoll(
        *("rru", "fit", tmp_path / "measured.csv", "--reference", "hw-a", "--propose", "batch", "-r", "west")
    )
    assert (fitted.returncode, "version 1 of class batch" in fitted.stdout) == (0, True), fitted.stderr
    [approval] = document(plimsoll("get", "approvals", *classes, "-o", "json"))["items"]
    assert approval["given_reason"] == "fit of measured.csv, 2 measurements"
    assert plimsoll("reject", approval["approval_id"], "--reason", "one type").returncode == 0
    (tmp_path / "bad.csv").write_text("hardware_type,value\nhw-a,1\n")
    bad = plimsoll("rru", "set", "web", "-r", "west", "--from", tmp_path / "bad.csv")
    assert (bad.returncode, "bad.csv has no values of class web" in bad.stderr) == (1, True)


def test_what_waits_for_a_person(plimsoll: Plimsoll) -> None:
    """In west, which the story before left without a reservation of its own.

    A quota counts servers on their way back too, so the story begins when those of web are back.
    """
    assert until(lambda: f"{held_by(plimsoll, 'web')} left", "0 left") == "0 left"
    limits = document(plimsoll("limits", "west", "--size-cost-units", 4, "--reason", "review of May", "-o", "json"))
    assert (limits["size_cost_units"], limits["four_eyes"]) == (4, False)
    kept = document(plimsoll("limits", "west", "--hardware-share", 0.9, "-o", "json"))
    assert (kept["size_cost_units"], kept["hardware_share"]) == (4, 0.9)
    assert document(plimsoll("quota", "a", "-r", "west", "--limit", 20, "-o", "json"))["limit_cost_units"] == 20
    asked = ("cost-units", "hw-a", "-o", "json")
    assert document(plimsoll(*asked, "--set", 1.5, "--reason", "prices"))["cost_units"] == 1.5
    assert document(plimsoll(*asked, "--default"))["cost_units"] is None
    ask = ("create", "big", "-r", "west", "--owner", "a", "-t", "hw-a", "--reason", "launch")
    waits = plimsoll(*ask, "--count", 6)
    assert (waits.returncode, "awaiting_approval" in waits.stdout) == (0, True), waits.stderr
    assert "plimsoll amend" in waits.stdout
    [request] = document(plimsoll("get", "capacity-requests", "-w", "reservation=big", "-o", "json"))["items"]
    amended = plimsoll("amend", request["capacity_request_id"], "--count", 5)
    assert "7 cost units are above the 4" in " ".join(amended.stdout.split())
    # Moves of other stories may wait for an approval too.
    mine = ("-w", "status=pending", "-w", f"capacity_request_id={request['capacity_request_id']}")
    listed = plimsoll("get", "approvals", *mine)
    assert "launch" in listed.stdout
    [approval] = document(plimsoll("get", "approvals", *mine, "-o", "json"))["items"]
    assert "7 cost units" in approval["causes"][0]["message"]
    assert "is approved" in plimsoll("approve", approval["approval_id"], "--reason", "fine").stdout
    second = plimsoll("create", "other", "-r", "west", "--owner", "a", "-t", "hw-a", "--count", 5, "-o", "json")
    withdrawn = plimsoll("withdraw", document(second)["capacity_request_id"], "--reason", "no need")
    assert (withdrawn.returncode, "withdrawn" in withdrawn.stdout) == (0, True), withdrawn.stderr
    third = plimsoll("create", "third", "-r", "west", "--owner", "a", "-t", "hw-a", "--count", 7)
    assert third.returncode == 0, third.stdout
    requests = ("-w", "status=pending", "-w", "kind=capacity_request")
    [approval] = document(plimsoll("get", "approvals", *requests, "-o", "json"))["items"]
    assert "is rejected" in plimsoll("reject", approval["approval_id"], "--reason", "no").stdout
    assert plimsoll("reject", approval["approval_id"], "--reason", "no").returncode == 1
    assert "plimsoll quota a --region" in plimsoll("get", "quotas", "a").stderr
    over = plimsoll("create", "over", "-r", "west", "--owner", "a", "-t", "hw-a", "--count", 21)
    assert (over.returncode, "QuotaExceeded" in over.stdout) == (2, True)
    begins = (datetime.now(UTC) + timedelta(days=30)).strftime("%Y-%m-%dT%H:%M:%S")
    scheduled = plimsoll(
        *("create", "in-a-month", "-r", "west", "--owner", "a", "-t", "hw-a", "--count", 1, "--starts-at", begins)
    )
    assert (scheduled.returncode, "scheduled" in scheduled.stdout) == (0, True), scheduled.stderr
    assert document(plimsoll("limits", "west", "--none", "-o", "json"))["size_cost_units"] is None
    assert document(plimsoll("quota", "a", "-r", "west", "--lift", "-o", "json"))["limit_cost_units"] is None


def test_the_policy(plimsoll: Plimsoll, tmp_path: Path) -> None:
    save_region(region_image("south", msbs=4, servers_per_rack=6, reservations={}, current={}), tmp_path / "south")
    assert plimsoll("import", tmp_path / "south").returncode == 0
    assert document(plimsoll("policy", "south", "--set", "buffer_cost=3", "-o", "json"))["buffer_cost"] == 3
    assert "buffer_cost: 3" in plimsoll("policy", "south").stdout
    asked = plimsoll("policy", "south", "--set", "shared_buffer_share=0.1", "--reason", "failures of May")
    assert (asked.returncode, "It waits for an approval" in asked.stdout) == (0, True), asked.stderr
    assert "1 to approve or reject" in plimsoll("status", "south").stdout
    assert document(plimsoll("policy", "south", "-o", "json"))["shared_buffer_share"] == 0
    assert "--set" in plimsoll("policy", "south", "--set", "buffer_cost").stderr


def test_the_roll_out_of_a_policy(plimsoll: Plimsoll, tmp_path: Path) -> None:
    image = region_image("north", msbs=4, servers_per_rack=6, reservations={"old": SPEC}, current={"server-00": "old"})
    save_region(image, tmp_path / "north")
    assert plimsoll("import", tmp_path / "north").returncode == 0
    assert "has had no roll-out" in plimsoll("rollout", "show", "north").stderr
    why = ("--reason", "buffers grew")
    for _ in range(2):
        assert plimsoll("plan", "north").returncode == 0
    started = plimsoll("rollout", "start", "north", "--set", "buffer_cost=8", *why)
    assert "buffer_cost: 5.0 -> 8.0" in started.stdout, started.stderr
    for solves in range(1, 4):
        assert plimsoll("plan", "north").returncode == 0
        shown = until(lambda: plimsoll("rollout", "show", "north").stdout, f"compared: {solves} solve")
        assert f"compared: {solves} solve" in shown, shown
    assert "costs are at the old prices" in shown
    advanced = plimsoll("rollout", "advance", "north", "--share", "0.99", *why)  # the only reservation
    approval = advanced.stdout.partition("plimsoll approve ")[2].partition(" ")[0]
    assert "the policy of north is approved" in plimsoll("approve", approval, *why).stdout, advanced.stderr
    assert document(plimsoll("rollout", "show", "north", "-o", "json"))["stage"] == "canary"
    assert "is not held" in plimsoll("rollout", "resume", "north", *why).stderr
    assert "stage: back" in plimsoll("rollout", "back", "north", *why).stdout
    assert document(plimsoll("policy", "north", "-o", "json"))["buffer_cost"] == 5
    assert plimsoll("rollout", "start", "north", "--set", "buffer_cost=9", *why).returncode == 0
    waits = plimsoll("policy", "north", "--set", "shared_buffer_share=0.1", *why)
    assert "Approved, it would end roll-out 2, which is in the stage shadow." in waits.stderr
    assert "This ended roll-out 2" in plimsoll("policy", "north", "--set", "spread_cost=3", *why).stderr
    assert "roll-out" not in plimsoll("policy", "north", "--set", "spread_cost=4", *why).stderr
    assert "stage: superseded" in plimsoll("rollout", "show", "north").stdout
    assert "stage: back" in plimsoll("rollout", "show", "north", "--rollout", "1").stdout
    assert "in the stage back" in plimsoll("rollout", "back", "north", "--rollout", "1", *why).stderr
    assert "is of north" in plimsoll("rollout", "show", "west", "--rollout", "1").stderr
    assert plimsoll("rollout", "start", "north", "--set", "buffer_cost=9", *why).returncode == 0
    tried = plimsoll("simulate", "north", "--policy", "spread_cost=1")
    assert "That would end roll-out 3 of another policy." in tried.stdout, tried.stderr
    number = document(plimsoll("get", "simulations", "-o", "json"))["items"][0]["simulation_id"]
    assert "This ended roll-out 3" in plimsoll("simulate", "--apply", number).stderr


def test_help_and_what_is_mistyped(plimsoll: Plimsoll) -> None:
    told = plimsoll("--help").stdout
    assert [name for name in COMMANDS if f"\n  {name} " not in told] == []
    wrong = plimsoll("get", "nothing")
    assert (wrong.returncode, "there are regions, hardware-types" in wrong.stderr) == (1, True)
    assert document(plimsoll("get", "audit-entry", "-o", "json")) == document(
        plimsoll("get", "audit-entries", "-o", "json")
    )
    assert plimsoll("fly").returncode == 1


def test_every_noun_is_listed(plimsoll: Plimsoll) -> None:
    for noun, columns in COLUMNS.items():
        listed = plimsoll("get", noun.value)
        items = document(plimsoll("get", noun.value, "-o", "json"))["items"]
        said = {f"{one['covers']}\n" for one in items if "covers" in one} if items else {"There are none.\n"}
        assert (listed.returncode, listed.stderr) == (0, "".join(said)), noun
        assert listed.stdout.split()[0] == next(iter(columns)).split()[0]


def test_tokens(plimsoll: Plimsoll) -> None:
    token = document(plimsoll("token", "create", "ci", "--role", "requester", "--owner", "a", "-o", "json"))
    assert token["secret"].startswith("plim_")
    assert plimsoll("token", "owners", token["token_id"], "--owner", "a", "--owner", "b").stdout == "ci asks for a, b\n"
    assert plimsoll("token", "owners", token["token_id"]).stdout == "ci asks for a, b\n"
    assert plimsoll("token", "owners", token["token_id"], "--nobody", "--owner", "a").returncode == 1
    rotated = plimsoll("token", "rotate", token["token_id"], "--grace-s", 60)
    assert rotated.stdout.startswith("plim_")
    assert rotated.stdout.strip() != token["secret"]
    assert "a, b" in plimsoll("token", "list").stdout
    assert plimsoll("token", "owners", token["token_id"], "--nobody").stdout == "ci asks for nobody\n"
    assert plimsoll("token", "revoke", token["token_id"]).returncode == 0
    assert plimsoll("token", "revoke", 999).returncode == 1
    last = plimsoll("token", "revoke", 1)
    assert (last.returncode, "last_admin" in last.stderr) == (1, True)
