"""`plimsoll simulate`: simulate changes of a region, and apply a simulation's answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

import typer

from services.cli.client import Client, Json
from services.cli.estimate import show_estimate, tell_short_of
from services.cli.failure import CliFailure
from services.cli.output import Output, OutputOption, percent, plural, print_json, print_rows, say, stderr, stdout
from services.cli.policy import note_ended_rollout, settings
from services.cli.simulated_limits import show_power, show_uplinks
from services.cli.specs import number_of

T = TypeVar("T")
_OVER = frozenset({"done", "failed", "cancelled"})
_COSTS = {
    "moving": "stability",
    "spread over racks": "rack_spread",
    "spread over MSBs": "msb_spread",
    "embedded buffers": "buffer",
    "servers above the fewest": "surplus",
    "balance of power": "power",
    "further domains": "locality",
    "uplinks": "uplinks",
    "shortfall": "short",
    "affinity": "affinity",
    "total": "total",
    "reservations short": "reservations_short",
    "RRU short": "shortfall_rru",
}
_MOMENTS = {"now": "now", "at once": "at_once", "after": "after"}
_SHOWN_MAX = 20


def simulate(
    region: Annotated[str | None, typer.Argument(envvar="PLIMSOLL_REGION", help="the region's name")] = None,
    demand: Annotated[
        list[str] | None, typer.Option("--demand", metavar="NAME=RRU", help="this reservation with that capacity")
    ] = None,
    scale: Annotated[
        list[str] | None,
        typer.Option(
            "--scale",
            metavar="[NAME=]FACTOR",
            help="a factor on the RRU of this reservation, or of all; resources and guests stay as they are",
        ),
    ] = None,
    scale_owner: Annotated[
        list[str] | None,
        typer.Option("--scale-owner", metavar="OWNER=FACTOR", help="likewise, for all of an owner"),
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option("--policy", metavar="COST=VALUE", help="another cost, such as buffer_cost=8")
    ] = None,
    lose: Annotated[
        list[str] | None,
        typer.Option(
            "--lose",
            metavar="[KIND:]DOMAIN",
            help="an MSB that is down, or a domain of this kind, such as network_block:block-03",
        ),
    ] = None,
    lose_msb: Annotated[list[str] | None, typer.Option("--lose-msb", metavar="MSB")] = None,
    lose_datacenter: Annotated[list[str] | None, typer.Option("--lose-datacenter", metavar="DATACENTER")] = None,
    lose_rack: Annotated[list[str] | None, typer.Option("--lose-rack", metavar="RACK")] = None,
    add_rack: Annotated[
        list[str] | None, typer.Option("--add-rack", metavar="MSB:TYPE:SERVERS[:RACKS]", help="new racks in an MSB")
    ] = None,
    remove_type: Annotated[list[str] | None, typer.Option("--remove-type", metavar="TYPE")] = None,
    withdraw_rack: Annotated[list[str] | None, typer.Option("--withdraw-rack", metavar="RACK")] = None,
    power_limit: Annotated[
        list[str] | None,
        typer.Option(
            "--power-limit",
            metavar="[KIND:]DOMAIN=W[:HEADROOM]",
            help="another limit on the power of an MSB, or of a domain of this kind",
        ),
    ] = None,
    uplink_limit: Annotated[
        list[str] | None,
        typer.Option(
            "--uplink-limit",
            metavar="[RACK=]GBIT",
            help="another limit on the uplink of this rack, or of all others; none lifts it",
        ),
    ] = None,
    traffic: Annotated[
        list[str] | None,
        typer.Option("--traffic", metavar="NAME=GBIT", help="Gbit/s that one RRU of this reservation sends"),
    ] = None,
    apply: Annotated[
        int | None, typer.Option("--apply", metavar="ID", help="apply this simulation, if its basis has not changed")
    ] = None,
    reason: Annotated[
        str | None, typer.Option(help="why, with --apply; needed where approval limits are exceeded")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="answer an estimate at once, without a solve; nothing is kept")
    ] = False,
    wait: Annotated[
        float, typer.Option(min=0.0, metavar="SECONDS", help="how long to wait for the answer; 0: no wait")
    ] = 3600.0,
    output: OutputOption = Output.TABLE,
) -> None:
    """Simulate changes of a region, and show the difference. Options repeat. Nothing changes without --apply."""
    client = Client.connect()
    if apply is not None:
        _apply(client, apply, reason, output)
        return
    if region is None:
        raise typer.BadParameter("name the region, or a simulation with --apply", param_hint="REGION")
    body: Json = {
        "region": region,
        "policy": settings(policy or (), "--policy") or None,
        "demand": [
            *({"reservation": name, "capacity_rru": value} for name, value in _pairs(demand, "--demand", float)),
            *(_scaled(text) for text in scale or ()),
            *({"owner": name, "scale": value} for name, value in _pairs(scale_owner, "--scale-owner", float)),
        ],
        "lose": [
            *(_lost(text) for text in lose or ()),
            *(
                {"scope": scope, "name": name}
                for scope, names in (("msb", lose_msb), ("datacenter", lose_datacenter), ("rack", lose_rack))
                for name in names or ()
            ),
        ],
        "add_racks": [_racks(text) for text in add_rack or ()],
        "remove_hardware_types": list(remove_type or ()),
        "withdraw_racks": list(withdraw_rack or ()),
        "power_limits": [_power_limit(text) for text in power_limit or ()],
        "uplink_limits": [_uplink_limit(text) for text in uplink_limit or ()],
        "traffic": [{"reservation": name, "gbit_per_rru": gbit} for name, gbit in _pairs(traffic, "--traffic", float)],
    }
    given = {name: value for name, value in body.items() if value}
    if given.keys() == {"region"}:
        raise CliFailure(
            "name at least one change, such as --demand web=20, --scale 1.2 or --lose-msb msb-01: "
            "`plimsoll simulate --help` has every option"
        )
    if dry_run:
        show_estimate(client.post("/v1/simulations", given, dry_run=True), output)
        return
    asked = client.post("/v1/simulations", given)
    if wait <= 0:
        _tell_later(asked, output)
        return
    with stderr.status(f"simulation {asked['simulation_id']}: waiting for a worker") as status:

        def tell(found: Json) -> None:
            if found["status"] == "running":
                progress = found["progress"]
                gap = f", gap {percent(progress['gap'])}" if "gap" in progress else ""
                status.update(f"simulation {found['simulation_id']}: {progress.get('phase', 'loading')}{gap}")

        path = f"/v1/simulations/{asked['simulation_id']}"
        found = client.wait(path, lambda f: f["status"] in _OVER, s_max=wait, each=tell)
    if output is Output.JSON:
        print_json(found)
    elif found["report"] is not None:
        _show(found)
    if found["status"] == "failed":
        raise CliFailure(f"simulation {found['simulation_id']} failed: {found['error']}")
    if found["status"] not in _OVER:
        raise CliFailure(f"simulation {found['simulation_id']} has not ended after {wait:g} s. {_go_on(found)}")


def _tell_later(asked: Json, output: Output) -> None:
    if output is Output.JSON:
        print_json(asked)
    else:
        say(f"simulation {asked['simulation_id']} of {asked['region']} waits for a worker. {_go_on(asked)}")


def _go_on(simulation: Json) -> str:
    return f"It goes on: `plimsoll get simulations {simulation['simulation_id']}` has its answer."


def _apply(client: Client, number: int, reason: str | None, output: Output) -> None:
    done = client.post(f"/v1/simulations/{number}/apply", reason=reason)
    if done["ends_rollout_id"] is not None:
        note_ended_rollout(done["ends_rollout_id"])
    if output is Output.JSON:
        print_json(done)
    elif done["applied_plan_id"] is None:
        say(f"simulation {number} is applied; no server had to move")
    else:
        say(f"simulation {number} is applied as plan {done['applied_plan_id']}")


def _show(found: Json) -> None:
    report = found["report"]
    cost, stopped = report["cost"], report["solve"]["stopped_by"]
    rows = [
        {"term": label} | {words: cost[moment].get(term, 0.0) for words, moment in _MOMENTS.items()}
        for label, term in _COSTS.items()
    ]
    after = cost["after"]
    say(
        f"simulation {found['simulation_id']} of {found['region']}: "
        f"{plural(report['moves'], 'server')} would change hands "
        f"({after['moved_in_use']} in use and {after['moved_idle']} idle leave a reservation)"
        + ("" if stopped == "finished" else f"; stopped by {stopped}"),
    )
    if report.get("waves"):
        say(report["waves"]["message"])
    print_rows(rows, {"COST": "term", "NOW": "now", "AT ONCE": "at once", "AFTER": "after"})
    stdout.print()
    differ = sorted(report["reservations"], key=lambda row: (-row["short_rru_after"], -row["gained"] - row["lost"]))
    print_rows(differ[:_SHOWN_MAX], RESERVATION)
    if len(differ) > _SHOWN_MAX:
        say(f"and {len(differ) - _SHOWN_MAX} more reservations; --output json has them all")
    tell_short_of(report.get("short_of", {}))
    stdout.print()
    types = report["hardware_types"]
    columns = {"TYPE": "hardware_type", "BOUND": "bound_now", "FREE": "free_now"}
    columns |= {"BOUND AFTER": "bound_after", "FREE AFTER": "free_after"}
    print_rows(types, columns)
    show_power(report.get("power", ()), report.get("power_limits", 0), "after")
    show_uplinks(report.get("uplinks"), "after")
    held_back = sum(report["solve"].get("churn", {}).get("held_back", {}).values())
    if held_back:
        say(f"The churn budget held back {plural(held_back, 'exchange')} of servers in use that would gain something.")
    for one in report["refused"]:
        say(f"{one['reservation']}: {one['message']}")
    if found["applicable"] and not report["refused"] and found["status"] == "done":
        say(f"`plimsoll simulate --apply {found['simulation_id']}` applies it, if its basis does not change meanwhile.")
        if found["ends_rollout_id"] is not None:
            say(f"That would end roll-out {found['ends_rollout_id']} of another policy.")


RESERVATION = {
    "RESERVATION": "reservation",
    "CAPACITY": "capacity_rru_now",
    "WOULD BE": "capacity_rru",
    "SHORT": "short_rru_now",
    "AT ONCE": "short_rru_at_once",
    "AFTER": "short_rru_after",
    "GAINS": "gained",
    "LOSES": "lost",
}


def _scaled(text: str) -> Json:
    form = "[NAME=]FACTOR, such as web=1.5 or 1.2"
    name, factor = _named(text, "--scale", form)
    value = number_of(factor, float, "--scale", form)
    return {"reservation": name, "scale": value} if name else {"scale": value}


def _racks(text: str) -> Json:
    parts = text.rsplit(":", 3)
    counts = [part for part in parts[2:] if part]
    form = "MSB:TYPE:SERVERS[:RACKS], such as msb-003:hw-04:20:2"
    if len(parts) < 3:
        raise typer.BadParameter(f"{text!r}: write {form}", param_hint="--add-rack")
    servers, racks = (number_of(count, int, "--add-rack", form) for count in [*counts, "1"][:2])
    return {"msb": parts[0], "hardware_type": parts[1], "servers_per_rack": servers, "racks": racks}


def _lost(text: str) -> Json:
    kind, domain = _domain(text)
    if not domain:
        form = "[KIND:]DOMAIN, such as msb-03 or network_block:block-03"
        raise typer.BadParameter(f"{text!r}: write {form}", param_hint="--lose")
    return {"scope": kind or "msb", "name": domain}


def _domain(text: str) -> tuple[str, str]:
    """Return the kind of [KIND:]DOMAIN, or "", and the domain."""
    kind, colon, domain = text.partition(":")
    return (kind, domain) if colon else ("", text)


def _power_limit(text: str) -> Json:
    place, _, figures = text.rpartition("=")
    kind, domain = _domain(place)
    watts, colon, headroom = figures.partition(":")
    form = "[KIND:]DOMAIN=W[:HEADROOM], such as msb-003=900000:0.1 or power_row:row-7=180000"
    if not domain:
        raise typer.BadParameter(f"{text!r}: write {form}", param_hint="--power-limit")
    limit: Json = {"domain": domain, "limit_w": number_of(watts, float, "--power-limit", form)}
    if kind:
        limit["kind"] = kind
    return limit | ({"headroom": number_of(headroom, float, "--power-limit", form)} if colon else {})


def _uplink_limit(text: str) -> Json:
    form = "[RACK=]GBIT, such as rack-000017=200 or 100, or none for no limit"
    rack, gbit = _named(text, "--uplink-limit", form)
    limit: Json = {"limit_gbit": None if gbit == "none" else number_of(gbit, float, "--uplink-limit", form)}
    return {"rack": rack} | limit if rack else limit


def _named(text: str, option: str, form: str) -> tuple[str, str]:
    """Return the name before "=" and what follows it; "" as the name: for all. Raises BadParameter."""
    name, equals, value = text.rpartition("=")
    if equals and not name:  # a variable of a script was empty, which must not mean all
        raise typer.BadParameter(f"{text!r}: write {form}", param_hint=option)
    return name, value


def _pairs(texts: Sequence[str] | None, option: str, convert: Callable[[str], T]) -> list[tuple[str, T]]:
    found = []
    for text in texts or ():
        name, _, value = text.rpartition("=")
        if not name:
            raise typer.BadParameter(f"{text!r}: write NAME=VALUE", param_hint=option)
        found.append((name, number_of(value, convert, option, "NAME=VALUE")))
    return found
