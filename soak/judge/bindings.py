"""Rules about servers: their reservations, their moves, and whether granted capacity is covered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from soak.history import History, Json
from soak.judge.answers import seen_rows
from soak.judge.spares import shared_buffers
from soak.judge.violation import Violation


def one_reservation_at_a_time(history: History) -> Iterator[Violation]:
    """A server joins a reservation only while it is in no reservation. At the end, it is in the reservation to which
    its last move brought it.

    At the end a server may be in doubt instead: it may still be in that reservation.

    A move that begins with an abort may find its server in no reservation, because the outcome before it is not known.
    So may one from a shared buffer, whose servers have joined nothing.

    The end is checked only at rest, because a list that is read while servers move mixes several moments. Regions begin
    with all servers free. A run that forgets moves is left to the rules about the real servers.
    """
    if history.run.get("history_days") is not None:
        return
    bound: dict[tuple[str, str], str | None] = defaultdict(lambda: None)
    buffers = shared_buffers(history)
    for move in sorted(history.final.get("moves", []), key=lambda move: move["move_id"]):
        server = move["region"], move["server"]
        was_spare = (move["region"], move.get("from_reservation")) in buffers
        may_be_in_none = was_spare or any(record["step"] == "abort" for record in move["history"])
        for record in move["history"]:
            if record["outcome"] != "done":
                continue
            if record["step"] == "preempt":
                if bound[server] is None and not may_be_in_none:
                    said = f"{server[1]} left a reservation in move {move['move_id']}, and was in none"
                    yield Violation("one_reservation_at_a_time", said)
                bound[server] = None
            elif record["step"] == "join":
                if bound[server] is not None:
                    said = f"{server[1]} joined {move['to_reservation']} in move {move['move_id']}, and was in "
                    yield Violation("one_reservation_at_a_time", f"{said}{bound[server]}")
                bound[server] = move["to_reservation"]
    for row in history.at_rest.get("servers", []):
        expected = bound[row["region"], row["name"]]
        is_spare = (row["region"], row["current_reservation"]) in buffers
        is_in_doubt = expected is not None and row["in_doubt_reservation"] == expected
        if (None if is_spare else row["current_reservation"]) != expected and not is_in_doubt:
            said = f"{row['name']} is in {row['current_reservation']}; its moves brought it to {expected}"
            yield Violation("one_reservation_at_a_time", said)


def moves_end_where_they_say(history: History) -> Iterator[Violation]:
    """At rest no move runs, each step was done once, and every server that is up is in its target reservation."""
    for move in history.final.get("moves", []):
        if move["status"] == "running" and history.at_rest:
            said = f"move {move['move_id']} of {move['server']} still runs: {move['step']}, attempt {move['attempt']}"
            yield Violation("moves_end_where_they_say", said)
        done = [record["step"] for record in move["history"] if record["outcome"] == "done"]
        if len(done) != len(set(done)):
            yield Violation("moves_end_where_they_say", f"move {move['move_id']} did a step twice: {', '.join(done)}")
    for server in history.at_rest.get("servers", []):
        if server["unavailability"] == "none" and server["current_reservation"] != server["target_reservation"]:
            said = f"{server['name']} is in {server['current_reservation']}, and should be in "
            yield Violation("moves_end_where_they_say", f"{said}{server['target_reservation']}")


def granted_is_covered(history: History) -> Iterator[Violation]:
    """At rest (while nothing changes), a granted reservation has its capacity. This rule counts the capacity from the
    list of servers.

    Servers that are down do not count, and neither do servers that will be retired.
    """
    leaving = {
        (one["region"], one["scope"], one["scope_name"])
        for one in history.at_rest.get("retirements", [])
        if one["status"] == "announced"
    }
    by_target: dict[tuple[str, str], list[Json]] = defaultdict(list)
    for server in history.at_rest.get("servers", []):
        if server["target_reservation"] is not None:
            by_target[server["region"], server["target_reservation"]].append(server)
    for reservation in history.at_rest.get("reservations", []):
        spec, status = reservation["spec"], reservation["status"]
        if reservation["deleted_at"] is not None or status["phase"] == "scheduled":
            continue
        by_msb: dict[str, float] = defaultdict(float)
        for server in by_target[reservation["region"], reservation["name"]]:
            at = {(server["region"], "server", server["name"]), (server["region"], "rack", server.get("rack"))}
            if server["unavailability"] != "unplanned" and not at & leaving:
                by_msb[server["msb"]] += spec["rru"].get(server["hardware_type"], 0.0)
        lost = max(by_msb.values(), default=0.0) if spec["survives_msb_loss"] else 0.0
        short = spec["capacity_rru"] - (sum(by_msb.values()) - lost)
        told = status["target"]["shortfall_rru"]
        name = f"reservation {reservation['name']}"
        if abs(max(short, 0.0) - told) > 1e-6 * max(1.0, spec["capacity_rru"]):
            yield Violation("granted_is_covered", f"{name} is short of {short:g} RRU and says {told:g}")
        if status["phase"] == "granted" and short > 1e-6 * max(1.0, spec["capacity_rru"]):
            yield Violation("granted_is_covered", f"{name} is granted, and short of {short:g} RRU")


def lineage_is_a_chain(history: History) -> Iterator[Violation]:
    """No two solves of a region have the same parent plan, because the second solve would start from outdated targets.

    No two committed placement plans follow the same plan either.
    """
    first: dict[tuple[str, int], int] = {}
    for plan in sorted(history.final.get("plans", []), key=lambda plan: plan["plan_id"]):
        if plan["kind"] == "solve" and plan["parent_plan_id"] is not None:
            parent = plan["region"], plan["parent_plan_id"]
            if parent in first:
                said = f"plans {first[parent]} and {plan['plan_id']} of {parent[0]} both follow plan {parent[1]}"
                yield Violation("lineage_is_a_chain", said)
            first.setdefault(parent, plan["plan_id"])
    followed: dict[int | None, int] = {}
    for made in sorted(history.final.get("placement_plans", []), key=lambda made: made["placement_plan_id"]):
        number, rests_on = made["placement_plan_id"], made["parent_placement_plan_id"]
        if made["committed"] and followed.setdefault(rests_on, number) != number:
            said = f"placement plans {followed[rests_on]} and {number} both follow {rests_on}"
            yield Violation("lineage_is_a_chain", said)


def grants_take_what_is_free(history: History) -> Iterator[Violation]:
    """A grant takes only free servers and none from another reservation, in answers and at the end."""
    own = {seen.row_id: seen.row["reservation"] for seen in seen_rows(history) if seen.noun == "capacity request"}
    request_of: dict[int, int] = {}
    made: dict[int, list[Json]] = {}
    for operation in history.operations:
        if operation.done is not None and operation.what == "list_grants":
            request_of |= {plan["plan_id"]: plan["capacity_request_id"] for plan in operation.done.body["items"]}
        elif operation.done is not None and operation.what == "list_changes":
            made[int(operation.path.split("/")[3])] = operation.done.body["items"]
    for grant in history.final.get("grants", []):
        request_of[grant["plan_id"]], made[grant["plan_id"]] = grant["capacity_request_id"], grant["made"]
    for plan_id, changes in made.items():
        reservation = own.get(request_of.get(plan_id, 0))
        for change in changes:
            if reservation is not None and change["from_reservation"] not in (None, reservation):
                said = f"plan {plan_id} granted {reservation} server {change['server']}, and took it from "
                yield Violation("grants_take_what_is_free", f"{said}{change['from_reservation']}")
