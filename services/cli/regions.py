"""Whole regions: `plimsoll import` and `plimsoll export`."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Annotated

import typer

from libs.interchange.region import FILES
from services.cli.client import Client
from services.cli.failure import CliFailure
from services.cli.output import Output, OutputOption, print_json, stderr, stdout

_IMPORT_S_MAX = 600.0


def import_region(
    folder: Annotated[Path, typer.Argument(help="a region folder of the interchange format", exists=True)],
    region: Annotated[str | None, typer.Option("--region", "-r", help="its name; the folder's where left out")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Bring a region in: its servers, reservations and policy, all or nothing."""
    name = region or folder.resolve().name
    missing = [file for file in FILES if not (folder / file).is_file()]
    if missing:
        raise CliFailure(f"{folder} lacks {', '.join(missing)}: it is not a region folder")
    files = {Path(file).stem: (file, (folder / file).read_bytes()) for file in FILES}
    with stderr.status(f"importing {name}"):
        answer = Client.connect().post(f"/v1/regions/{name}/import", files=files, timeout_s=_IMPORT_S_MAX)
    if output is Output.JSON:
        print_json(answer)
    else:
        stdout.print(f"{name} is in. `plimsoll get servers --where region={name}` lists its servers.", highlight=False)


def export_region(
    region: Annotated[str, typer.Argument(help="the region's name")],
    out: Annotated[Path, typer.Option(help="a folder that does not exist yet")],
) -> None:
    """Take a region out, as a folder that `plimsoll solve` and `plimsoll import` read."""
    if out.exists():
        raise CliFailure(f"{out} is there already: name a new folder")
    with stderr.status(f"exporting {region}"):
        content = Client.connect().download(f"/v1/regions/{region}/export")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        out.mkdir(parents=True)
        for name in archive.namelist():
            (out / Path(name).name).write_bytes(archive.read(name))
    stdout.print(f"{region} is in {out}", highlight=False)
