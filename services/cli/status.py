"""`plimsoll status`: show the state of a region, and the decisions that wait for a person."""

from __future__ import annotations

from collections import Counter
from typing import Annotated
from urllib.parse import quote

import typer

from services.cli.client import Client, Json
from services.cli.columns import waits
from services.cli.durations import in_words
from services.cli.output import Output, OutputOption, plural, print_json, print_rows, say, text_of
from services.cli.region import schedule_in_words

_COLUMNS = {
    "TYPE": "hardware_type",
    "SERVERS": "servers",
    "BOUND": "bound",
    "FREE": "free",
    "IN USE": "in_use",
    "TO MOVE": "to_move",
    "DOWN": "unavailable",
    "MAINTENANCE": "in_maintenance",
}

_WORST = {
    "RESERVATION": "name",
    "WHOLE": "availability_30d%",
    "WATCHED": "watched",
    "NOW": "reason",
    "ASKED FOR": "capacity_rru",
    "GRANTED": "granted_rru",
    "HELD": "held_rru",
    "WITHOUT LARGEST MSB": "held_after_msb_loss_rru",
}
_NAMED_MAX = 10


def status(
    region: Annotated[str, typer.Argument(envvar="PLIMSOLL_REGION", help="the region's name")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the state of a region: capacity, servers by type, problems, and decisions that wait for a person."""
    client = Client.connect()
    path = f"/v1/regions/{quote(region, safe='')}"
    summary = client.get(f"{path}/summary")
    conditions = client.get(path)["conditions"]
    amiss = [one for one in conditions if one["status"] == "False"]
    simulated = [one for one in conditions if one["reason"] == "Simulated"]
    approvals = list(client.items("/v1/approvals", region=region, status="pending"))
    letters = list(client.items("/v1/moves", region=region, dead_letter="open"))
    schedule = client.get(f"{path}/schedule")
    loans = list(client.items("/v1/loans", region=region))
    short = client.get("/v1/reservations", region=region, short=True, limit=_NAMED_MAX)["items"]
    if output is Output.JSON:
        ids = {
            "pending_approvals": [one["approval_id"] for one in approvals],
            "open_dead_letters": [one["move_id"] for one in letters],
        }
        named_short = [one["name"] for one in short]
        print_json(
            {
                "region": region,
                **summary,
                "amiss": amiss,
                **ids,
                "short": named_short,
                "loans": loans,
                "schedule": schedule,
            }
        )
        return
    say(
        f"{region}: {plural(summary['reservations'], 'reservation')}, shared buffers included, "
        f"{summary['degraded']} of them short; "
        f"{summary['capacity_rru']:,.1f} RRU wanted, {summary['shortfall_rru']:,.1f} short; "
        f"{summary['embedded_buffer_rru']:,.1f} RRU embedded for the loss of {_losses(summary['survived_kinds'])}, "
        f"{summary['shared_buffer_rru']:,.1f} shared for random failures"
    )
    if summary["readiness"] is not None:
        say(_held_in_words(summary["readiness"]))
    print_rows([*summary["hardware_types"], _sum(summary["hardware_types"])], _COLUMNS)
    say(f"{region} {schedule_in_words(schedule)}")
    if short:
        named = ", ".join(map(_short_in_words, short))
        more = f" and {summary['degraded'] - len(short):,} more" if summary["degraded"] > len(short) else ""
        say(f"short: {named}{more}; `plimsoll get reservations -w region={region} -w short=yes` lists them")
    if summary["churn"] is not None:
        say(_churn_in_words(summary["churn"]))
    if loans:
        say(_loans_in_words(region, loans))
    if summary["worst"]:
        say("whole for the least of the last 30 days:")
        print_rows([one | {"watched": in_words(one["watched_30d_s"])} for one in summary["worst"]], _WORST)
    for one in amiss + simulated:
        say(f"{one['type']}: {one['reason']}. {one['message']}")
    if approvals:
        say(f"{len(approvals)} to approve or reject: `plimsoll get approvals -w region={region} -w status=pending`")
    if letters:
        failed = plural(len(letters), "move")
        say(f"{failed} failed for good: `plimsoll get moves -w region={region} -w dead_letter=open`")


def _losses(kinds: list[str]) -> str:
    """Return the losses that reservations survive, in words."""
    return " or ".join("an MSB" if kind == "MSB" else f"a {kind}" for kind in kinds or ["MSB"])


def _short_in_words(reservation: Json) -> str:
    """Return the name of a reservation that is short, by how much, and what was granted of it if it waits."""
    spec, found = reservation["spec"], reservation["status"]
    granted = f", {found['granted_rru']:,.4g} of {spec['capacity_rru']:,.4g} granted" if waits(reservation) else ""
    return f"{reservation['name']} ({found['target']['shortfall_rru']:,.4g} RRU{granted})"


def _churn_in_words(churn: Json) -> str:
    """Return the churn budget as a line."""
    left = churn["used"] + churn["planned"]
    line = f"churn budget: {left:,} servers in use preempted or under way in 24 hours; the last solve planned "
    line += f"{churn['planned']:,} of at most {churn['most']:,}"
    if churn["over"]:
        line += f", {churn['over']:,} of them beyond the budget to repair promises"
    return line + (f"; it held back {churn['held_back']:,}" if churn["held_back"] else "")


def _loans_in_words(region: str, loans: list[Json]) -> str:
    """Return the lent servers as a line."""
    numbers = Counter(loan["reservation"] for loan in loans)
    named = ", ".join(f"{name} {number}" for name, number in sorted(numbers.items())[:_NAMED_MAX])
    more = f" and {len(numbers) - _NAMED_MAX} more" if len(numbers) > _NAMED_MAX else ""
    ends = [loan["until"] for loan in loans if loan["until"] is not None and loan["recalled_at"] is None]
    over = sum(loan["recalled_at"] is not None for loan in loans)
    line = f"{plural(len(loans), 'server is', 'servers are')} on loan for exchanges: {named}{more}"
    line += f"; the last loan ends by {text_of(max(ends))}" if ends else ""
    line += f"; {over} on the way back" if over else ""
    return f"{line}: `plimsoll get loans -w region={region}`"


def _held_in_words(now: Json) -> str:
    """Return what the reservations hold, as a line."""
    begun = now["ready"] + now["not_there_yet"] + now["capacity_lost"]
    line = f"{now['ready']} of {begun} hold what they ask for now: {now['held_rru']:,.1f} RRU held, "
    line += f"{now['held_after_msb_loss_rru']:,.1f} without the largest MSB of each"
    if now["not_there_yet"]:
        line += f"; {now['not_there_yet']} new or changed and not there yet"
    if now["capacity_lost"]:
        holds = "holds" if now["capacity_lost"] == 1 else "hold"
        line += f"; {now['capacity_lost']} lost servers and {holds} less than was granted"
    missing = f"; {now['missing_rru']:,.4g} RRU missing" if now["missing_rru"] else ""
    return f"{line}{missing} (at {text_of(now['watched_until'])})"


def _sum(types: list[Json]) -> Json:
    counted = [name for name in _COLUMNS.values() if name != "hardware_type"]
    return {"hardware_type": "all", **{name: sum(row[name] for row in types) for name in counted}}
