"""`plimsoll power`: show the watts that domains of a region draw, and set their limits."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

import typer

from services.cli.client import Client, named_by_options
from services.cli.failure import CliFailure
from services.cli.output import Output, OutputOption, percent, plural, print_document, print_json, print_rows, say

app = typer.Typer(
    help="Show the watts that domains draw, and set their limits.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
_COLUMNS = {
    "KIND": "kind",
    "DOMAIN": "domain",
    "NOW KW": "current_kw",
    "PLANNED KW": "target_kw",
    "ALL IN FULL KW": "full_kw",
    "LIMIT KW": "limit_kw",
    "HEADROOM": "headroom",
    "FREE KW": "free_kw",
}
_MSB = "MSB"
_GIVEN = {"domain": "domain", "kind": "--kind", "limit_w": "--watts", "headroom": "--headroom"}
_TYPES_MAX = 5
Region = Annotated[str, typer.Argument(envvar="PLIMSOLL_REGION", help="the region's name")]
Why = Annotated[str | None, typer.Option(help="why; for the audit trail")]


@app.command()
def show(region: Region, output: OutputOption = Output.TABLE) -> None:
    """Show what each MSB draws now and once the targets are reached, beside its limit."""
    _print(Client.connect().get(_path(region)), output)


@app.command()
def limit(
    region: Region,
    domain: Annotated[str, typer.Argument(help="the name of an MSB, or of a domain of another kind")],
    watts: Annotated[float | None, typer.Option(metavar="W", help="W that the domain can feed")] = None,
    headroom: Annotated[float | None, typer.Option(metavar="SHARE", help="share of it that plans keep free")] = None,
    kind: Annotated[str, typer.Option(help="the kind of domain, such as power_row")] = _MSB,
    lift: Annotated[bool, typer.Option("--lift", help="set no limit on this domain")] = False,
    reason: Why = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Set or lift the limit of one domain. The other limits of the region stay."""
    if lift == (watts is not None or headroom is not None):
        raise typer.BadParameter("give either --lift, or --watts and --headroom")
    kind = _MSB if kind.lower() == _MSB.lower() else kind
    client = Client.connect()
    found = client.get(_path(region))
    others = [one for one in found["limits"] if (one["kind"], one["domain"]) != (kind, domain)]
    had = next((one for one in found["limits"] if (one["kind"], one["domain"]) == (kind, domain)), None)
    if had is None and (lift or watts is None):
        raise CliFailure(f"{kind} {domain} of {region} has no limit: set one with --watts")
    if not lift:
        kept = had or {"kind": kind, "domain": domain, "headroom": 0.0}
        others.append(
            kept | ({} if watts is None else {"limit_w": watts}) | ({} if headroom is None else {"headroom": headroom})
        )
    body = {"limits": others} | ({} if reason is None else {"reason": reason})
    given = {} if lift else {f"limits.{len(others) - 1}.{field}": option for field, option in _GIVEN.items()}
    with named_by_options(given):
        set_limits = client.put(_path(region), body, generation=found["generation"])
    _print(set_limits, output)


@app.command("type")
def of_type(
    hardware_type: Annotated[str, typer.Argument(metavar="TYPE", help="the hardware type")],
    idle: Annotated[float | None, typer.Option(metavar="W", help="W of a free server")] = None,
    full: Annotated[float | None, typer.Option(metavar="W", help="W of a server that a reservation has")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show or set the watts of a hardware type, in all regions."""
    client = Client.connect()
    path = f"/v1/hardware-types/{quote(hardware_type, safe='')}"
    found = client.get(path)
    given = {name: watts for name, watts in (("idle_w", idle), ("full_w", full)) if watts is not None}
    if given:
        attributes = found["attributes"] | given
        if not 0 <= attributes.get("idle_w", 0) <= attributes.get("full_w", attributes.get("idle_w", 0)):
            raise typer.BadParameter("--idle is from 0 to the watts in full: set --full too")
        found = client.put(path, {"attributes": attributes}, generation=found["generation"])
    (print_json if output is Output.JSON else print_document)(found)


def _path(region: str) -> str:
    return f"/v1/regions/{quote(region, safe='')}/power"


def _print(found: Any, output: Output) -> None:
    if output is Output.JSON:
        print_json(found)
        return
    print_rows([_row(one) for one in found["domains"]], _COLUMNS)
    now, planned = found["current_variance"], found["target_variance"]
    if now is not None:
        say(f"variance over MSBs, of the share of all watts in full: {now:.4g} now, {planned:.4g} by targets")
    untold = found["types_without_watts"]
    if untold:
        named = ", ".join(untold[:_TYPES_MAX]) + (" and others" if len(untold) > _TYPES_MAX else "")
        say(f"{plural(len(untold), 'hardware type')} without watts: {named}. Set them: plimsoll power type")


def _row(one: dict[str, Any]) -> dict[str, Any]:
    allowed, most = one["allowed_w"], max(one["current_w"], one["target_w"])
    kw = {f"{name}_kw": one[f"{name}_w"] / 1000 for name in ("current", "target", "full")}
    if allowed is None:
        return {"kind": one["kind"], "domain": one["domain"], **kw, "limit_kw": None, "headroom": None, "free_kw": None}
    limited = {"limit_kw": one["limit_w"] / 1000, "headroom": percent(one["headroom"])}
    return {"kind": one["kind"], "domain": one["domain"], **kw, **limited, "free_kw": (allowed - most) / 1000}
