"""`plimsoll explain`: explain the servers of a reservation, and the effect of moving one."""

from __future__ import annotations

from typing import Annotated

import typer

from services.cli.client import ApiProblem, Client, Json
from services.cli.get import id_of
from services.cli.noun import Noun
from services.cli.output import Output, OutputOption, print_json, print_rows, say, stderr, stdout

_TERMS = {
    "moving": "stability",
    "spread over racks": "rack_spread",
    "spread over MSBs": "msb_spread",
    "embedded buffer": "buffer",
    "servers above the fewest": "surplus",
    "balance of power": "power",
    "further domains": "locality",
    "uplinks": "uplinks",
    "shortfall": "short",
    "affinity": "affinity",
    "total": "total",
}
_NOT_BEGUN = "not_begun"
"""The answer about a reservation whose window is yet to begin."""
_MARK = {True: "yes", False: "no", None: "not settled"}


def explain(
    reservation: Annotated[
        str | None, typer.Argument(help="the reservation, by name or id; without one, --server names any server")
    ] = None,
    server: Annotated[
        str | None, typer.Option(help="explain the place of this server instead; without a reservation, by name or id")
    ] = None,
    to: Annotated[
        str | None, typer.Option(help="with --server: the effect of binding it to this reservation, or free")
    ] = None,
    region: Annotated[
        str | None, typer.Option("--region", "-r", help="the region of these names, where other regions have them too")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Explain a reservation: its need, its servers, the constraints that decide, and the last solve's changes."""
    if to is not None and server is None:
        raise typer.BadParameter("say which server: --server NAME", param_hint="--to")
    client = Client.connect()
    try:
        with stderr.status(f"{reservation or server}: solving again without each thing that may decide"):
            found = _ask(client, region, reservation, server, to)
    except ApiProblem as problem:
        if problem.code != _NOT_BEGUN or output is Output.JSON:
            raise
        say(problem.said)  # whether its start is a promise
        return
    if output is Output.JSON:
        print_json(found)
        return
    say(found["summary"])
    stdout.print()
    if server is None:
        _tell_reservation(found)
    else:
        _tell_moves(found["moves"], told=found["summary"])


def _ask(client: Client, region: str | None, reservation: str | None, server: str | None, to: str | None) -> Json:
    if reservation is not None:
        return client.get(f"{_path(client, region, Noun.RESERVATIONS, reservation)}/explain", server=server, to=to)
    if server is None:
        raise typer.BadParameter("name a reservation, or a server with --server NAME", param_hint="RESERVATION")
    return client.get(f"{_path(client, region, Noun.SERVERS, server)}/explain", to=to)


def _path(client: Client, region: str | None, noun: Noun, name: str) -> str:
    return f"/v1/{noun}/{id_of(client, noun, name, region=region)}"


def _tell_reservation(found: Json) -> None:
    used = [use["hardware_type"] for use in found["types"] if use["servers"]]
    by_msb: dict[str, Json] = {}
    for holding in found["holdings"]:  # by number: a name may contain a dot, and print_rows reads a dot as a path
        row = by_msb.setdefault(holding["msb"], {"msb": holding["msb"]})
        row[str(used.index(holding["hardware_type"]))] = holding["servers"]
    print_rows(list(by_msb.values()), {"MSB": "msb", **{name: str(k) for k, name in enumerate(used)}})
    stdout.print()
    if found["held_after_further_losses"]:
        losses = {"LOST KIND": "kind", "ITS LARGEST": "domain", "HELD WITHOUT IT": "held_after_rru"}
        print_rows(found["held_after_further_losses"], losses)
        stdout.print()
    types = [
        use | {"others": [f"{one['reservation']} {one['servers']}" for one in use["holders"]]} for use in found["types"]
    ]
    columns = {"TYPE": "hardware_type", "RRU EACH": "rru_per_server", "HAS": "servers", "FREE": "free_servers"}
    print_rows(types, {**columns, "OTHERS HAVE": "others"})
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
    """Print the effect of each move, except the one in `told`."""
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
    """Print a row per cost term and a column per situation."""
    rows = [
        {"term": label, **{str(k): cost[term] for k, (_, cost) in enumerate(costs)}} for label, term in _TERMS.items()
    ]
    headings = {name: str(k) for k, (name, _) in enumerate(costs)}
    print_rows(rows, {"TERM": "term", **headings})
