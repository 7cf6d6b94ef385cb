"""Read a list of servers in any format by options, and `plimsoll convert`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from libs.domain.inventory import Inventory
from libs.interchange.files.errors import InterchangeError
from libs.interchange.inventory.inventory import region_of
from libs.interchange.inventory.sources import SourceFormat, format_of, load_source
from libs.interchange.region.write import save_region
from services.cli.failure import CliFailure
from services.cli.output import plural, say, stderr

SourceArgument = Annotated[
    Path,
    typer.Argument(help="nodes.json of `kubectl get nodes -o json`, a CSV file, or a region folder", exists=True),
]
FormatOption = Annotated[SourceFormat | None, typer.Option("--format", "-f", help="its format; default: from its name")]
LabelsOption = Annotated[
    Path | None, typer.Option("--labels", metavar="FILE", help="a TOML file of rules; --map and --default override it")
]
MapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="FIELD=KEY",
        help="the label or column of server, datacenter, msb, rack, hardware_type, domain:KIND; repeatable",
    ),
]
DefaultOption = Annotated[
    list[str] | None,
    typer.Option(
        "--default", metavar="FIELD=VALUE", help="the value if it is missing, such as rack={server}; repeatable"
    ),
]


def read_source(
    source: Path,
    source_format: SourceFormat | None,
    labels: Path | None,
    keys: list[str] | None,
    defaults: list[str] | None,
) -> Inventory:
    """Return the servers of a source. Raises CliFailure that names wrong servers, and the wrong label or column."""
    kind = found_format(source, source_format)
    try:
        with stderr.status(f"reading {source}"):
            return load_source(
                source,
                kind,
                mapping_file=labels,
                keys=keys or (),
                defaults=defaults or (),
            )
    except InterchangeError as error:
        raise CliFailure(str(error)) from error


def found_format(source: Path, given: SourceFormat | None) -> SourceFormat:
    """Return the format of a source. Raises CliFailure if it is neither given nor known by the name."""
    try:
        return given or format_of(source)
    except InterchangeError as error:
        raise CliFailure(str(error)) from error


def convert(
    source: SourceArgument,
    out: Annotated[Path, typer.Option(help="a folder that does not exist yet")],
    source_format: FormatOption = None,
    labels: LabelsOption = None,
    keys: MapOption = None,
    defaults: DefaultOption = None,
) -> None:
    """Turn a list of servers into a region folder without a platform. All servers are free, and there are no
    reservations.
    """
    if out.exists():
        raise CliFailure(f"{out} exists already: name a new folder")
    inventory = read_source(source, source_format, labels, keys, defaults)
    save_region(region_of(inventory, out.name), out)
    say(f"{out}: {in_words(inventory)}")


def in_words(inventory: Inventory) -> str:
    """Return the numbers of servers, places and types in words."""
    topology = inventory.topology
    return (
        f"{plural(len(inventory), 'server')} in {plural(len(topology.racks), 'rack')}, "
        f"{plural(len(topology.msbs), 'MSB')} and {plural(len(topology.datacenters), 'datacenter')}, "
        f"of {plural(len(inventory.hardware_types), 'hardware type')}"
    )
