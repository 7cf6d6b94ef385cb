"""The losses of a what-if: as fields of the form, as entries of `lose` for the API, as words, and as options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from libs.domain.domain_kind import PLACE_KINDS
from services.pages.api import Json
from services.pages.form_fields import names_text, read_names
from services.pages.parts.words import spaced

LOSE = "lose:"
"""Prefix of the fields. `lose:KIND:NAME` is a box, and `lose:KIND` has names of a further kind between commas."""
LISTS = {"lose_msbs": "msb", "lose_racks": "rack"}
"""The fields with names between commas that every region has -> the kind of what they lose."""


def read_losses(form: Mapping[str, str]) -> list[tuple[str, Json]]:
    """Return the field and the entry of each domain that a form loses: first those of boxes."""
    return [*_boxes(form), *_listed(form)]


def further_kinds(form: Mapping[str, str]) -> set[str]:
    """Return the further kinds of domain that fields of the form name, also those that the region lacks."""
    return {key.removeprefix(LOSE).partition(":")[0] for key in form if key.startswith(LOSE)} - {"", *PLACE_KINDS}


def ticked(form: Mapping[str, str], kind: str) -> list[str]:
    """Return the names of the domains of a kind that have a box with a tick."""
    prefix = f"{LOSE}{kind}:"
    return [key.removeprefix(prefix) for key in form if key.startswith(prefix) and form[key]]


def losses_form(lose: list[Json]) -> dict[str, str]:
    """Return the fields of a form for entries of the API, the inverse of `read_losses`."""
    racks = [one["name"] for one in lose if one["scope"] == "rack"]
    boxes = {f"{LOSE}{one['scope']}:{one['name']}": "on" for one in lose if one["scope"] != "rack"}
    return boxes | {"lose_racks": names_text(racks)}


def loss_words(one: Json) -> str:
    """Return a clause about an entry. The name of a further domain may mean nothing without its kind."""
    kind = "" if one["scope"] in PLACE_KINDS else f"{spaced(one['scope']).lower()} "
    return f"{kind}{one['name']} is lost"


def loss_option(one: Json) -> tuple[str, str]:
    """Return the option of `plimsoll simulate` for an entry, and its value."""
    kind, name = one["scope"], one["name"]
    return (f"--lose-{kind}", name) if kind in PLACE_KINDS else ("--lose", f"{kind}:{name}")


def _boxes(form: Mapping[str, str]) -> Iterator[tuple[str, Json]]:
    for key in form:
        kind, _, name = key.removeprefix(LOSE).partition(":")
        if key.startswith(LOSE) and form[key] and kind and name:
            yield key, {"scope": kind, "name": name}


def _listed(form: Mapping[str, str]) -> Iterator[tuple[str, Json]]:
    fields = LISTS | {f"{LOSE}{kind}": kind for kind in sorted(further_kinds(form))}
    for field, kind in fields.items():
        for name in read_names(form.get(field, "")):
            yield field, {"scope": kind, "name": name}
