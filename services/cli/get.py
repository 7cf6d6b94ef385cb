"""`plimsoll get NOUN [ID]`: show objects of any noun."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Annotated
from urllib.parse import quote

import typer

from libs.domain.page import ITEMS_MAX
from services.cli.client import Client, Json
from services.cli.columns import FILTERS, MOMENTS, columns_of
from services.cli.failure import CliFailure
from services.cli.moments import moment
from services.cli.noun import Noun
from services.cli.output import Output, OutputOption, note, plural, print_document, print_json, print_rows

OF_REGION = {
    Noun.IMPORTS: "items",
    Noun.MSB_LOSSES: "items",
    Noun.DOMAIN_LOSSES: "items",
    Noun.CHANCES: "items",
    Noun.SPARES: "items",
    Noun.SERVER_COUNTS: "items",
    Noun.SUPPLY: "hardware_types",
}
"""Nouns that are listed per region, below /v1/regions/NAME -> the field of the list."""

ONE_PAGE = (Noun.DOMAIN_LOSSES,)
"""Nouns whose lists have one page, with at most ITEMS_MAX items. The worst come first."""

NAMED = {Noun.RESERVATIONS: "reservation_id", Noun.SERVERS: "server_id"}
"""Nouns with names that may repeat, and may be digits -> the field of their id."""


def _noun(text: str) -> Noun:
    """Return the noun of a text, in plural or singular. Raises BadParameter that lists the nouns."""
    for noun in Noun:
        if text in (noun.value, noun.value.removesuffix("s"), noun.value.removesuffix("ies") + "y"):
            return noun
    raise typer.BadParameter(f"no noun {text!r}: there are {', '.join(Noun)}")


def get(
    what: Annotated[str, typer.Argument(metavar="NOUN", help=f"what to show: {', '.join(Noun)}")],
    identifier: Annotated[
        str | None, typer.Argument(metavar="ID", help="one of them, by id or name; leave out for a list")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            "-w",
            metavar="FIELD=VALUE",
            help="only matching items; repeatable. FIELD is a column; the answer to a wrong one lists the right ones",
        ),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            "--order",
            metavar="FIELD",
            help="order of reservations, such as held_rru for the least first, or -held_rru for the most",
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, metavar="N", help="items of a list, at most")] = 100,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show one object, or a list of them."""
    noun = _noun(what)
    client = Client.connect()
    filters = dict(_pair(text, FILTERS.get(noun, {})) for text in where or [])
    if order is not None:
        filters["order"] = order
    if identifier is not None:
        document = _one(client, noun, identifier, filters)
        (print_json if output is Output.JSON else print_document)(document)
        return
    if noun in ONE_PAGE:
        filters.setdefault("limit", str(min(limit + 1, ITEMS_MAX)))
    found = list(islice(_items(client, noun, filters), limit + 1))
    items = found[:limit]
    if output is Output.JSON:
        print_json({"items": items})
    else:
        rows = [_with_amiss(item) for item in items] if noun is Noun.REGIONS else items
        print_rows(rows, columns_of(noun, items))
        if noun is Noun.CHANCES:
            for covers in dict.fromkeys(item["covers"] for item in items):
                note(covers)
    if len(found) > limit:
        shown = plural(limit, "item is", "items are")
        note(f"Only {shown} shown, and there are more: --limit N shows N, --where narrows them down.")


def _items(client: Client, noun: Noun, filters: dict[str, str]) -> Iterator[Json]:
    """Yield all objects of a noun, also of a noun that is listed per region."""
    if noun not in OF_REGION:
        yield from client.items(f"/v1/{noun}", **filters)
        return
    wanted = filters.pop("region", None)
    for region in [wanted] if wanted else [found["name"] for found in client.items("/v1/regions")]:
        path = f"/v1/regions/{quote(region, safe='')}/{noun}"
        if noun is Noun.IMPORTS:
            yield from client.items(path, **filters)
            continue
        found = client.get(path, **filters)
        whole = {name: value for name, value in found.items() if not isinstance(value, list)}
        yield from ({**whole, **item} for item in found[OF_REGION[noun]])


def _one(client: Client, noun: Noun, identifier: str, filters: Mapping[str, str]) -> Json:
    """Return one object of a noun, by id or name. The filters narrow down a name. Raises CliFailure unless exactly one
    exists.
    """
    if noun in NAMED:
        identifier = id_of(client, noun, identifier, **filters)
    elif filters:
        raise typer.BadParameter(f"{identifier} is one object already: leave out --where and --order", param_hint="ID")
    if noun is Noun.IMPORTS:  # an import is found below its region, and its id does not name the region
        for found in _items(client, noun, {}):
            if str(found["import_id"]) == identifier:
                return found
        raise CliFailure(f"no import {identifier}: `plimsoll get imports` lists their ids")
    if noun in OF_REGION:
        raise CliFailure(f"{noun} have no ids: `plimsoll get {noun} --where region=REGION` lists those of a region")
    if noun is Noun.QUOTAS:
        raise CliFailure(
            f"a quota belongs to an owner in a region: `plimsoll quota {identifier} --region REGION` shows it"
        )
    return client.get(f"/v1/{noun}/{quote(identifier, safe='')}")


def _with_amiss(region: Json) -> Json:
    """Return a region with the reasons of its unhealthy conditions."""
    return region | {"amiss": [one["reason"] for one in region["conditions"] if one["status"] == "False"]}


def id_of(client: Client, noun: Noun, text: str, **filters: str | None) -> str:
    """Return the id of an object of a NAMED noun that is given by id or name. Beside a filter, such as the region, it
    is a name, because a name may be digits too. Raises CliFailure unless exactly one object has the name.
    """
    if text.isdecimal() and not any(filters.values()):
        return text
    found = [str(item[NAMED[noun]]) for item in client.items(f"/v1/{noun}", **(filters | {"name": text}))]
    if not found and noun is Noun.RESERVATIONS and filters.keys() <= {"region"}:
        _tell_request(client, text, filters.get("region"))
    if not found:
        such = " that these filters let pass" if filters.keys() - {"region"} else ""
        raise CliFailure(f"{noun}: none{such} is called {text}; `plimsoll get {noun}` lists them")
    if len(found) > 1:
        raise CliFailure(
            f"{noun}: {len(found)} are called {text}. Name the region too, or one of the ids that "
            f"`plimsoll get {noun} --where name={text}` lists"
        )
    return found[0]


def _tell_request(client: Client, name: str, region: str | None) -> None:
    """Raise CliFailure with the latest request for a reservation `name` that does not exist, if there is one."""
    for asked in client.items("/v1/capacity-requests", reservation=name, region=region):
        identifier, status = asked["capacity_request_id"], asked["status"]
        raise CliFailure(
            f"there is no reservation {name}. Its latest request {identifier} ({asked['kind']}) is "
            f"{status['phase'].replace('_', ' ')}: {status['message']} "
            f"`plimsoll get capacity-requests {identifier}` has it all"
        )


def _pair(text: str, renamed: Mapping[str, str]) -> tuple[str, str]:
    """Return a filter from FIELD=VALUE. FIELD is a column or a filter of the interface, in any case. Times may be as
    people type them. Raises BadParameter and CliFailure.
    """
    name, separator, value = text.partition("=")
    if not separator:
        raise typer.BadParameter(f"{text!r}: write FIELD=VALUE, such as region=west", param_hint="--where")
    name = re.sub(r"[ -]", "_", name.strip().lower())
    return renamed.get(name, name), moment(f"--where {name}", value) if name in MOMENTS else value
