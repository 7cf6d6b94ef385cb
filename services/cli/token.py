"""`plimsoll token`: who may ask."""

from __future__ import annotations

from typing import Annotated

import typer

from libs.domain.principal import Role
from services.cli.client import Client
from services.cli.output import Output, OutputOption, print_json, stderr, stdout

app = typer.Typer(help="Make and revoke API tokens.", no_args_is_help=True)


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="who or what will hold it")],
    role: Annotated[Role, typer.Option(help="what it may do")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Make a token. Its secret is printed on standard output, this once."""
    token = Client.connect().post("/v1/tokens", {"name": name, "role": role})
    if output is Output.JSON:
        print_json(token)
    else:
        stderr.print(f"token {token['token_id']} of {name}, {role}; keep it, it is not shown again:", highlight=False)
        stdout.print(token["secret"], highlight=False, soft_wrap=True)


@app.command()
def revoke(identifier: Annotated[int, typer.Argument(metavar="ID", help="as in `plimsoll get tokens`")]) -> None:
    """Revoke a token: it opens nothing from now on."""
    Client.connect().delete(f"/v1/tokens/{identifier}")
    stdout.print(f"token {identifier} is revoked", highlight=False)
