"""Import and export whole regions: `plimsoll import` and `plimsoll export`."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from libs.interchange.inventory.inventory import region_of
from libs.interchange.inventory.sources import SourceFormat
from libs.interchange.region.read import FILES, OPTIONAL_FILES
from libs.interchange.region.write import dump_region
from services.cli.client import Client
from services.cli.failure import CliFailure
from services.cli.imports import IMPORT_S_MAX, import_servers
from services.cli.output import Output, OutputOption, print_json, say, stderr
from services.cli.sources import (
    DefaultOption,
    FormatOption,
    LabelsOption,
    MapOption,
    SourceArgument,
    found_format,
    in_words,
    read_source,
)


def import_region(
    source: SourceArgument,
    region: Annotated[str | None, typer.Option("--region", "-r", help="its name; default: the source's")] = None,
    source_format: FormatOption = None,
    labels: LabelsOption = None,
    keys: MapOption = None,
    defaults: DefaultOption = None,
    only_add: Annotated[bool, typer.Option("--only-add", help="add new servers, and change no others")] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="the list is the whole region: retire servers that it lacks")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="do it without asking")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show the changes without applying them")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Import servers: create a region, or show and apply the changes of a list to an existing one.

    Only servers go into an existing region. The reservations and policy of a region folder are for a new region.
    """
    if only_add and prune:
        raise CliFailure("--only-add and --prune exclude each other")
    whole = source.resolve()
    name = region or (whole.name if source.is_dir() else whole.stem)
    client = Client.connect()
    if any(found["name"] == name for found in client.items("/v1/regions")):
        inventory = read_source(source, source_format, labels, keys, defaults)
        mode = "prune" if prune else "only_add" if only_add else "merge"
        import_servers(client, name, inventory, mode=mode, yes=yes, dry_run=dry_run, output=output)
        return
    kind = found_format(source, source_format)
    what = ""
    if kind is SourceFormat.REGION and not (labels or keys or defaults):
        missing = [file for file in FILES if not (source / file).is_file()]
        if missing:
            raise CliFailure(f"{source} lacks {', '.join(missing)}: it is not a region folder")
        told = [file for file in OPTIONAL_FILES if (source / file).is_file()]
        contents = {file: (source / file).read_bytes() for file in (*FILES, *told)}
    else:
        inventory = read_source(source, kind, labels, keys, defaults)
        contents, what = dump_region(region_of(inventory, name)), f" with {in_words(inventory)}"
    if dry_run:
        say(f"{name} does not exist: it would be created{what}")
        return
    files = {Path(file).stem: (file, content) for file, content in contents.items()}
    with stderr.status(f"importing {name}"):
        answer = client.post(f"/v1/regions/{quote(name, safe='')}/import", files=files, timeout_s=IMPORT_S_MAX)
    if output is Output.JSON:
        print_json(answer)
    else:
        say(f"{name} is imported. `plimsoll get servers --where region={name}` lists its servers.")


def export_region(
    region: Annotated[str, typer.Argument(help="the region's name")],
    out: Annotated[Path, typer.Option(help="a folder that does not exist yet")],
) -> None:
    """Export a region as a folder that `plimsoll solve` and `plimsoll import` read."""
    if out.exists():
        raise CliFailure(f"{out} exists already: name a new folder")
    with stderr.status(f"exporting {region}"):
        content = Client.connect().download(f"/v1/regions/{region}/export")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        out.mkdir(parents=True)
        for name in archive.namelist():
            (out / Path(name).name).write_bytes(archive.read(name))
    say(f"{region} is in {out}")
