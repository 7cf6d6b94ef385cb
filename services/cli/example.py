"""`plimsoll example`: write a made-up region to try commands with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from libs.interchange.region.write import save_region
from libs.simulator.fleet import made_up_fleet
from services.cli.failure import CliFailure
from services.cli.output import plural, say


def example(
    out: Annotated[Path, typer.Argument(help="a folder that does not exist yet; its name is the region's")],
    servers: Annotated[int, typer.Option(min=12, max=1_000_000, help="all of them free")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="another region")] = 0,
) -> None:
    """Write the folder of a made-up region with free servers only, to try commands with."""
    if out.exists():
        raise CliFailure(f"{out} exists already: name a folder that does not exist yet")
    image = made_up_fleet(out.name, servers=servers, seed=seed)
    save_region(image, out)
    types = plural(len(image.snapshot.hardware_types), "hardware type")
    say(f"{out}: {servers:,} servers of {types}, all free. `plimsoll import {out}` brings them in.")
