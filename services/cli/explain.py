"""`plimsoll explain`: why a reservation has the servers that it has, and what moving one would change."""

from __future__ import annotations

from typing import Annotated

import typer

from services.cli.client import Client, Json
from services.cli.get import id_of
from services.cli.noun import Noun
from services.cli.output import Output, OutputOption, print_json, print_rows, say, stderr, stdout

_TERMS = {
    "moving": "stability",
    "spread over racks": "rack_spread",
    "spread over MSBs": "msb_spread",
    "embedded buffer": "buffer",
    "shortfall": "short",
    "affinity": "affinity",
    "total": "total",
}
_MARK = {True: "yes", False: "no", None: "not settled"}


def explain(
    reservation: Annotated[str, typer.Argument(help="the reservation, by name or id")],
    server: Annotated[str | None, typer.Option(help="why this server of it is where it is, instead")] = None,
    to: Annotated[
        str | None, typer.Option(help="with --server: what would change if it were in this reservation, or free")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Say why: what it needs, what it has, what decides, and what the last solve did for it."""
    if to is not None and server is None:
        raise typer.BadParameter("say which server: --server NAME", param_hint="--to")
    client = Client.connect()
    identifier = reservation if reservation.isdecimal() else id_of(client, Noun.RESERVATIONS, reservation)
    with stderr.status(f"{reservation}: solving again without each thing that may decide"):
        found = client.get(f"/v1/reservations/{identifier}/explain", server=server, to=to)
    if output is Output.JSON:
        print_json(found)
        return
    say(found["summary"])
    stdout.print()
    if server is None:
        _tell_reservation(found)
    else:
        _tell_moves(found["moves"], told=found["summary"])


def _tell_reservation(found: Json) -> None:
    used = [use["hardware_type"] for use in found["types"] if use["servers"]]
    by_msb: dict[str, Json] = {}
    for holding in found["holdings"]:  # by number: a name may hold a dot, which print_rows takes for a path
        row = by_msb.setdefault(holding["msb"], {"msb": holding["msb"]})
        row[str(used.index(holding["hardware_type"]))] = holding["servers"]
    print_rows(list(by_msb.values()), {"MSB": "msb", **{name: str(k) for k, name in enumerate(used)}})
    stdout.print()
    print_rows(
        found["types"],
        {"TYPE": "hardware_type", "RRU EACH": "rru_per_server", "HAS": "servers", "FREE": "free_servers"},
    )
    stdout.print()
    deciders = [
        {
            "what": f"{decider['name']} {decider['subject'] or ''}".strip(),
            "shape": "-" if decider["afresh"] is None else _MARK[decider["afresh"]["decides"]],
            "now": _MARK[decider["now"]["decides"]],
            "claim": decider["claim"],
        }
        for decider in found["deciders"]
    ]
    print_rows(deciders, {"DECIDES": "what", "WHICH SERVERS": "shape", "TO KEEP THEM": "now", "WITHOUT IT": "claim"})
    stdout.print()
    last = found["last_solve"]
    costs = [("ITS COSTS", found["cost"])]
    if last is not None and (last["gained"] or last["lost"]):
        costs += [("BEFORE THE LAST SOLVE", last["before"]), ("AFTER IT", last["after"])]
    _tell_costs(costs)


def _tell_moves(moves: list[Json], *, told: str) -> None:
    """What each move would change; `told` was said already."""
    if not moves:
        return
    places = [(move["to_reservation"] or "free", move["after"]) for move in moves]
    _tell_costs([(f"in {moves[0]['from_reservation'] or 'no reservation'}", moves[0]["before"]), *places])
    for move in moves:
        stdout.print()
        if move["summary"] != told:
            say(move["summary"])
        rows = [
            {"name": one["reservation"], "when": when, **one[when]}
            for one in move["affected"]
            for when in ("before", "after")
        ]
        print_rows(
            rows,
            {
                "RESERVATION": "name",
                "": "when",
                "RRU": "total_rru",
                "LARGEST MSB": "worst_msb_rru",
                "SHORT": "shortfall_rru",
                "OFF AFFINITY": "off_affinity_rru",
            },
        )


def _tell_costs(costs: list[tuple[str, Json]]) -> None:
    """A row per term, a column per situation."""
    rows = [
        {"term": label, **{str(k): cost[term] for k, (_, cost) in enumerate(costs)}} for label, term in _TERMS.items()
    ]
    headings = {name: str(k) for k, (name, _) in enumerate(costs)}
    print_rows(rows, {"TERM": "term", **headings})
