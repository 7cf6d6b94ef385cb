"""`plimsoll rru`: read the RRU catalogue of a region, fit values to measurements, and ask for other values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from services.cli.client import Client
from services.cli.output import Output, OutputOption, print_json, print_rows
from services.cli.requests import RegionOption
from services.cli.rru.fit import fit
from services.cli.rru.values import read_values, values_of
from services.cli.rru.versions import ClassArgument, ReferenceOption, WhyOption, ask, class_path, present_version, told

app = typer.Typer(
    help="Manage the RRU catalogue of a region: what servers are worth to classes of workload.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
app.command()(fit)


@app.command("list")
def list_classes(region: RegionOption, output: OutputOption = Output.TABLE) -> None:
    """List the RRU of every hardware type in every class."""
    classes = list(Client.connect().items(f"/v1/regions/{quote(region, safe='')}/rru-classes"))
    if output is Output.JSON:
        print_json({"items": classes})
        return
    rows = [
        {"class": one["workload_class"], "version": one["version"], "type": name, "rru": rru}
        for one in sorted(classes, key=lambda one: str(one["workload_class"]))
        for name, rru in sorted(one["rru"].items())
    ]
    print_rows(rows, {"CLASS": "class", "VERSION": "version", "TYPE": "type", "RRU": "rru"})


@app.command()
def history(name: ClassArgument, region: RegionOption, output: OutputOption = Output.TABLE) -> None:
    """List the versions of a class, latest first."""
    versions = list(Client.connect().items(f"{class_path(region, name)}/versions"))
    if output is Output.JSON:
        print_json({"items": versions})
        return
    rows = [{**one, "asked_by": ", ".join(one["asked_by"]), "values": _told(one["rru"])} for one in versions]
    columns = {"VERSION": "version", "SINCE": "created_at", "ASKED BY": "asked_by", "APPROVED BY": "approved_by"}
    print_rows(rows, columns | {"REASON": "reason", "RRU": "values"})


@app.command("set")
def set_class(
    name: ClassArgument,
    region: RegionOption,
    values: Annotated[
        list[str] | None, typer.Argument(metavar="TYPE=RRU", help="values; the other types of the class stay")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--from", help="JSON or CSV file with all values, as from `rru list -o json` or `rru fit`"),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", metavar="TYPE", help="leave a type out; repeatable")
    ] = None,
    reference: ReferenceOption = None,
    reason: WhyOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Ask for another version of a class. It waits for an approval."""
    if file is None and not values and not without:
        raise typer.BadParameter("give values as TYPE=RRU, or a file with --from")
    client = Client.connect()
    present = present_version(client, region, name)
    rru = dict(present["rru"]) if file is None else read_values(file, name)
    rru |= values_of(values or [])
    for hardware_type in without or []:
        rru.pop(hardware_type, None)
    ask(client, region, name, rru, present["version"], reference=reference, reason=reason, output=output)


@app.command()
def retire(
    name: ClassArgument, region: RegionOption, reason: WhyOption = None, output: OutputOption = Output.TABLE
) -> None:
    """Ask to retire a class that no reservation follows. It waits for an approval."""
    client = Client.connect()
    present = client.get(class_path(region, name))
    approval = client.delete(class_path(region, name), generation=present["version"], reason=reason)
    assert approval is not None
    told(approval, output)


def _told(rru: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in sorted(rru.items()))
