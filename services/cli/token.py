"""`plimsoll token`: manage tokens."""

from __future__ import annotations

from typing import Annotated

import typer

from libs.domain.principal import Role
from services.cli.client import Client, Json
from services.cli.get import get
from services.cli.noun import Noun
from services.cli.output import Output, OutputOption, note, print_json, say, stdout

app = typer.Typer(
    help="Manage tokens: their roles and owners.", no_args_is_help=True, add_completion=False, rich_markup_mode=None
)
OwnerOption = Annotated[
    list[str] | None, typer.Option("--owner", help="owner that a requester may act for; repeatable")
]
Identifier = Annotated[int, typer.Argument(metavar="ID", help="as in `plimsoll token list`")]


@app.command("list")
def list_tokens(
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, help="tokens, at most")] = 100,
    output: OutputOption = Output.TABLE,
) -> None:
    """List all tokens, revoked ones too, without secrets."""
    get(Noun.TOKENS, limit=limit, output=output)


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="its holder")],
    role: Annotated[Role, typer.Option(help="what it may do")],
    owner: OwnerOption = None,
    person: Annotated[
        str | None, typer.Option(help="who holds it, as in `plimsoll whoami`; four eyes compare persons")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Create a token. Its secret is printed once, on standard output."""
    given = {} if person is None else {"person": person}
    token = Client.connect().post("/v1/tokens", {"name": name, "role": role, "owners": owner or [], **given})
    _tell(token, output)


@app.command()
def rotate(
    identifier: Identifier,
    grace_s: Annotated[
        int, typer.Option(min=0, metavar="SECONDS", help="how long the present secret stays valid")
    ] = 3600,
    output: OutputOption = Output.TABLE,
) -> None:
    """Give a token another secret, printed once, on standard output."""
    client = Client.connect()
    generation = client.get(f"/v1/tokens/{identifier}")["generation"]
    token = client.post(f"/v1/tokens/{identifier}/rotate", {"grace_s": grace_s}, generation=generation)
    _tell(token, output)


@app.command()
def owners(
    identifier: Identifier,
    owner: OwnerOption = None,
    nobody: Annotated[bool, typer.Option("--nobody", help="take all owners away")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the owners that a requester's token may act for, or set all of them."""
    if owner and nobody:
        raise typer.BadParameter("leave it out beside --owner", param_hint="--nobody")
    client = Client.connect()
    token = client.get(f"/v1/tokens/{identifier}")
    if owner or nobody:
        token = client.patch(f"/v1/tokens/{identifier}", {"owners": owner or []}, generation=token["generation"])
    if output is Output.JSON:
        print_json(token)
    else:
        say(f"{token['name']} asks for {', '.join(token['owners']) or 'nobody'}")


@app.command()
def person(
    identifier: Identifier,
    who: Annotated[str, typer.Argument(metavar="PERSON", help="as in `plimsoll whoami`, such as 'corp|248289'")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Set the person who holds a token. Four eyes compare persons."""
    client = Client.connect()
    generation = client.get(f"/v1/tokens/{identifier}")["generation"]
    token = client.patch(f"/v1/tokens/{identifier}", {"person": who}, generation=generation)
    if output is Output.JSON:
        print_json(token)
    else:
        say(f"{token['name']} belongs to {token['person']}")


@app.command()
def revoke(identifier: Identifier) -> None:
    """Revoke a token from now on."""
    Client.connect().delete(f"/v1/tokens/{identifier}")
    say(f"token {identifier} is revoked")


def _tell(token: Json, output: Output) -> None:
    if output is Output.JSON:
        print_json(token)
        return
    said = f"token {token['token_id']} of {token['name']}, {token['role']}"
    if token["role"] == Role.REQUESTER:
        said += f" for {', '.join(token['owners']) or 'nobody yet: see `plimsoll token owners`'}"
    note(f"{said}; keep it, it is not shown again:")
    stdout.print(token["secret"], highlight=False, soft_wrap=True)
