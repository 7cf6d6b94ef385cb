"""Import servers into an existing region: show the difference, and apply it after a confirmation."""

from __future__ import annotations

from itertools import islice
from urllib.parse import quote

import typer

from libs.domain.inventory import Inventory
from libs.interchange.inventory.inventory import dump_inventory
from services.cli.client import Client, Json
from services.cli.failure import EXIT_NOT_POSSIBLE, CliFailure
from services.cli.output import Output, print_json, print_rows, say, stderr

IMPORT_S_MAX = 600.0
_SHOWN_MAX = 20
_WORDS = {
    "add": "new",
    "change": "changed",
    "retire": "to leave the fleet",
    "refuse": "refused",
    "keep": "not in the list and kept (--prune: the list is the whole region)",
}


def import_servers(
    client: Client, region: str, inventory: Inventory, *, mode: str, yes: bool, dry_run: bool, output: Output
) -> None:
    """Propose, show, ask and confirm. Raises CliFailure with status 2 if all differences were refused."""
    if output is Output.JSON and not (yes or dry_run):
        raise CliFailure("--output json cannot ask: add --yes to apply it or --dry-run to look")
    path = f"/v1/regions/{quote(region, safe='')}/imports"
    content = dump_inventory(inventory)
    with stderr.status(f"comparing {len(inventory):,} servers with {region}"):
        proposal = client.post(
            f"{path}?mode={mode}", files={"servers": ("servers.parquet", content)}, timeout_s=IMPORT_S_MAX
        )
    one = f"{path}/{proposal['import_id']}"
    counts = proposal["counts"]
    to_do = counts["add"] + counts["change"] + counts["retire"]
    if output is Output.TABLE:
        _show(client, region, one, counts)
    agreed = yes or (to_do > 0 and not dry_run and _asked())
    if dry_run or not to_do or not agreed:
        result = client.post(f"{one}/discard")
        said = "nothing was changed" if to_do else "there is nothing to do"
    else:
        with stderr.status("confirming"):
            result = client.post(f"{one}/confirm", timeout_s=IMPORT_S_MAX)
        said = f"{region} is as shown; `plimsoll get retirements --where region={region}` lists servers still to leave"
        said = said if counts["retire"] else f"{region} is as shown"
    if output is Output.JSON:
        print_json(result if not dry_run else proposal)
    else:
        say(said)
    if agreed is None:
        raise CliFailure("no terminal to ask on: add --yes to apply it or --dry-run to look")
    if counts["refuse"] and not to_do:
        raise CliFailure("not possible as asked: all differences were refused", status=EXIT_NOT_POSSIBLE)


def _show(client: Client, region: str, one: str, counts: Json) -> None:
    listed = ", ".join(f"{counts[action]:,} {words}" for action, words in _WORDS.items() if counts[action])
    say(f"{region}: {listed or 'no difference'}")
    for action, words in _WORDS.items():
        number = counts[action]
        if not number or action == "keep":  # for these the number is enough
            continue
        page = client.get(f"{one}/items", action=action, limit=_SHOWN_MAX)
        rows = [dict(item) for item in islice(page["items"], _SHOWN_MAX)]
        print_rows(rows, {words.upper(): "server", "HOW": "message"})
        if number > len(rows):
            say(f"... and {number - len(rows):,} more")


def _asked() -> bool | None:
    """Ask for confirmation; return None without an answer."""
    try:
        return typer.confirm("do this?", default=False, err=True)
    except typer.Abort:
        return None
