"""The question of a what-if: as a form and an address, as a body for the API, as sentences, and as a command line."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from libs.domain.domain_kind import MSB_KIND
from libs.domain.policy import RegionPolicy
from services.pages.api import Json
from services.pages.form_fields import WrongField, names_text, read_names, read_number
from services.pages.parts.words import count, number, percent, spaced
from services.pages.views import what_if_losses as losses

WITHOUT, POLICY, DEMAND = "without:", "policy:", "demand:"
"""Prefixes of the form's fields, beside those of what is lost. `without:TYPE` is a box; `demand:ROW:...` is one of many
rows.
"""
ROWS_MAX = 100
"""Largest number of rows of one kind, as in the API."""
_SPARE_ROWS = 2
_NONE = "none"
_PATH = re.compile(r"([a-z_]{1,40})(?:\[|\.)(\d{1,9})\]?(?:\.(.{1,200}))?")
"""A place in a list of the body, as in `demand[0].owner` and `demand.0.scale`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """A table of the form, of which each row is an entry of a list of the API's body.

    name     beginning of its fields, and its words for people
    part     the list of the body
    texts, numbers, wholes   field of an entry -> whether it is required
    liftable                 numbers for which the word `none` stands for no limit
    """

    name: str
    words: str
    part: str
    texts: Mapping[str, bool]
    numbers: Mapping[str, bool]
    wholes: Mapping[str, bool]
    liftable: Collection[str] = ()

    def used(self, form: Mapping[str, str]) -> list[int]:
        """Return the rows of which at least one field is filled in."""
        return [*_used(form, self.name, (*self.texts, *self.numbers, *self.wholes))]

    def entry(self, form: Mapping[str, str], row: int) -> Json:
        """Return the entry of a row. Raises WrongField."""
        one: Json = {}
        for name, needed in self.texts.items():
            text = form.get(f"{self.name}:{row}:{name}", "").strip()
            if text:
                one[name] = text
            elif needed:
                raise WrongField(f"{self.name}:{row}:{name}", "is required")
        for name, needed in (*self.numbers.items(), *self.wholes.items()):
            if name in self.liftable and form.get(f"{self.name}:{row}:{name}", "").strip().lower() == _NONE:
                one[name] = None
                continue
            value = read_number(form, f"{self.name}:{row}:{name}", needed=needed)
            if value is not None:
                one[name] = int(value) if name in self.wholes and value.is_integer() else value
        return one

    def form_of(self, entries: Sequence[Json]) -> dict[str, str]:
        """Return the fields of the form for entries of the API, the inverse of `entry`."""
        return {
            f"{self.name}:{row}:{name}": _NONE if value is None and name in self.liftable else _text(value)
            for row, one in enumerate(entries, 1)
            for name, value in one.items()
        }


TABLES = (
    _Rows(
        name="racks",
        words="New racks",
        part="add_racks",
        texts={"msb": True, "hardware_type": True},
        numbers={},
        wholes={"servers_per_rack": True, "racks": False},
    ),
    _Rows(
        name="power",
        words="Power",
        part="power_limits",
        texts={"domain": True, "kind": False},
        numbers={"limit_w": True, "headroom": False},
        wholes={},
    ),
    _Rows(
        name="uplinks",
        words="Uplinks",
        part="uplink_limits",
        texts={"rack": False},
        numbers={"limit_gbit": True},
        wholes={},
        liftable=("limit_gbit",),
    ),
    _Rows(
        name="traffic",
        words="Traffic",
        part="traffic",
        texts={"reservation": True},
        numbers={"gbit_per_rru": True},
        wholes={},
    ),
)
"""The tables of the form but that of demand, whose rows have a choice."""
_ROW_WORDS = {"demand": "Demand"} | {one.name: one.words for one in TABLES}
_ROWS_OF = ("demand", *(one.part for one in TABLES))
"""Lists of the API's body of which each entry is a row of the form."""
_ROW = re.compile(rf"({'|'.join(_ROW_WORDS)}):(\d{{1,3}}):([a-z_]+)")


@dataclass(frozen=True, slots=True)
class Question:
    """A what-if as the API takes it.

    fields   the form's field of each place of the body: "demand[0]" -> "demand:3"
    """

    body: Json
    fields: Mapping[str, str]

    def field_of(self, path: str) -> str:
        """Return the form's field of a path in an error of the API."""
        found = _PATH.fullmatch(path)
        if found is None:
            return path.replace("policy.", POLICY, 1)
        place, part = self.fields.get(f"{found[1]}[{found[2]}]", path), found[3]
        if found[1] == "demand" and part in ("reservation", "owner"):
            part = "name"
        return f"{place}:{part}" if found[1] in _ROWS_OF and part else place


def weights() -> list[Json]:
    """Return the fields of a policy that a what-if may change: name, description, and whether it is a switch."""
    return [
        {"name": one.name, "description": one.metadata["description"], "switch": isinstance(one.default, bool)}
        for one in fields(RegionPolicy)
        if one.metadata.get("simulated", True)
    ]


def rows_of(form: Mapping[str, str], kind: str) -> list[int]:
    """Return the numbers of the rows to show: those in use, and some more."""
    used = [int(found[2]) for key in form if form[key] and (found := _ROW.fullmatch(key)) and found[1] == kind]
    return [*range(1, min(ROWS_MAX, max(used, default=0) + _SPARE_ROWS) + 1)]


def read_question(region: str, form: Mapping[str, str]) -> Question:
    """Return the question of a form. Raises WrongField."""
    where: dict[str, str] = {}
    lose = losses.read_losses(form)
    where |= {f"lose[{k}]": field for k, (field, _) in enumerate(lose)}
    demand = [*_used(form, "demand", ("name", "capacity_rru", "scale"))]
    where |= {f"demand[{k}]": f"{DEMAND}{row}" for k, row in enumerate(demand)}
    types = [key.removeprefix(WITHOUT) for key in form if key.startswith(WITHOUT) and form[key]]
    where |= {f"remove_hardware_types[{k}]": f"{WITHOUT}{name}" for k, name in enumerate(types)}
    withdrawn = read_names(form.get("withdraw_racks", ""))
    where |= {f"withdraw_racks[{k}]": "withdraw_racks" for k in range(len(withdrawn))}
    for table in TABLES:
        where |= {f"{table.part}[{k}]": f"{table.name}:{row}" for k, row in enumerate(table.used(form))}
    body: Json = {
        "policy": read_policy(form),
        "demand": [_demand(form, row) for row in demand],
        "lose": [one for _, one in lose],
        "remove_hardware_types": types,
        "withdraw_racks": withdrawn,
        **{table.part: [table.entry(form, row) for row in table.used(form)] for table in TABLES},
    }
    return Question({"region": region, **{name: value for name, value in body.items() if value}}, where)


def form_of(what_if: Json, *, decisions_only: bool = False) -> dict[str, str]:
    """Return the form that asks a question of the API again. New reservations have no field: they are left out.

    decisions_only   leave out what a plan cannot bring about
    """
    form = {f"{POLICY}{name}": _text(value) for name, value in what_if["policy"].items()}
    for row, one in enumerate(what_if["demand"], 1):
        of = "reservation" if one["reservation"] else "owner" if one["owner"] else "all"
        form |= {
            f"{DEMAND}{row}:of": of,
            f"{DEMAND}{row}:name": one["reservation"] or one["owner"] or "",
            f"{DEMAND}{row}:capacity_rru": _text(one["capacity_rru"]),
            f"{DEMAND}{row}:scale": _text(one["scale"]),
        }
    if not decisions_only:
        form |= losses.losses_form(what_if["lose"]) | {"withdraw_racks": names_text(what_if["withdraw_racks"])}
        form |= {f"{WITHOUT}{name}": "on" for name in what_if["remove_hardware_types"]}
        for table in TABLES:
            form |= table.form_of(what_if.get(table.part, ()))
    return {name: value for name, value in form.items() if value}


def sentences(what_if: Json) -> list[str]:
    """Return what a question assumes, a clause each. Takes a body of a request or the `what_if` of an answer."""
    said = [losses.loss_words(one) for one in what_if.get("lose", ())]
    for one in what_if.get("demand", ()):
        every = f"every reservation of {one['owner']}" if one.get("owner") else "every reservation"
        size, factor = one.get("capacity_rru"), one.get("scale")
        becomes = f"{number(factor)} times its capacity" if size is None else f"{number(size)} RRU"
        said.append(f"{one.get('reservation') or every} has {becomes}")
    for one in what_if.get("create", ()):
        said.append(f"{one['owner']} gets {one['name']} with {number(one['spec']['capacity_rru'])} RRU")
    for one in what_if.get("add_racks", ()):
        racks = count(one.get("racks", 1), "new rack")
        said.append(f"{one['msb']} gets {racks} of {number(one['servers_per_rack'])} {one['hardware_type']}")
    said += [f"all {name} are gone" for name in what_if.get("remove_hardware_types", ())]
    said += [f"rack {name} is withdrawn" for name in what_if.get("withdraw_racks", ())]
    for one in what_if.get("power_limits", ()):
        headroom = one.get("headroom")
        spare = "" if headroom is None else f" less {percent(headroom)}"
        said.append(f"{one['domain']} may draw {number(one['limit_w'] / 1000)} kW{spare}")
    limits = what_if.get("uplink_limits", ())
    for one in limits:
        rack = f"rack {one['rack']}" if one.get("rack") else "every other rack" if len(limits) > 1 else "every rack"
        gbit = one["limit_gbit"]
        said.append(f"{rack} may send {'any' if gbit is None else number(gbit)} Gbit/s")
    for one in what_if.get("traffic", ()):
        said.append(f"{one['reservation']} sends {number(one['gbit_per_rru'])} Gbit/s per RRU")
    return said + [
        f"the {spaced(name).lower()} is {_text(value)}" for name, value in (what_if.get("policy") or {}).items()
    ]


def headline(what_if: Json) -> str:
    """Return the question in one line."""
    said = sentences(what_if)
    more = f", and {count(len(said) - 1, 'more change')}" if len(said) > 1 else ""
    return f"What if {said[0]}{more}?" if said else "What if?"


def command_of(region: str, what_if: Json) -> tuple[str, ...]:
    """Return the command line that asks the same. It has no option for new reservations."""
    options = [losses.loss_option(one) for one in what_if.get("lose", ())]
    for one in what_if.get("demand", ()):
        of = one.get("reservation") or one.get("owner")
        factor = "--scale-owner" if one.get("owner") else "--scale"
        option = factor if one.get("capacity_rru") is None else "--demand"
        value = _text(one.get("scale") if option == factor else one["capacity_rru"])
        options.append((option, f"{of}={value}" if of else value))
    for one in what_if.get("add_racks", ()):
        rack = (one["msb"], one["hardware_type"], one["servers_per_rack"], one.get("racks", 1))
        options.append(("--add-rack", ":".join(map(str, rack))))
    options += [("--remove-type", name) for name in what_if.get("remove_hardware_types", ())]
    options += [("--withdraw-rack", name) for name in what_if.get("withdraw_racks", ())]
    for one in what_if.get("power_limits", ()):
        kind, headroom = one.get("kind", MSB_KIND), one.get("headroom")
        place = one["domain"] if kind == MSB_KIND else f"{kind}:{one['domain']}"
        share = "" if headroom is None else f":{_text(headroom)}"
        options.append(("--power-limit", f"{place}={_text(one['limit_w'])}{share}"))
    for one in what_if.get("uplink_limits", ()):
        place = f"{one['rack']}=" if one.get("rack") else ""
        options.append(("--uplink-limit", f"{place}{_text(one['limit_gbit']) or _NONE}"))
    for one in what_if.get("traffic", ()):
        options.append(("--traffic", f"{one['reservation']}={_text(one['gbit_per_rru'])}"))
    options += [("--policy", f"{name}={_text(value)}") for name, value in (what_if.get("policy") or {}).items()]
    return ("simulate", region, *(part for option in options or [("--lose-msb", "MSB")] for part in option))


def words_of(field: str) -> str:
    """Return how people find a field on the page."""
    found = _ROW.fullmatch(field)
    if found is not None:
        return f"{_ROW_WORDS[found[1]]}, row {found[2]}, {spaced(found[3]).lower()}"
    if field.startswith(losses.LOSE):
        return spaced(field.rpartition(":")[2])
    for prefix in (POLICY, WITHOUT):
        if field.startswith(prefix):
            return spaced(field.removeprefix(prefix))
    return spaced(field)


def read_policy(form: Mapping[str, str]) -> Json:
    """Return the new values of the weights that the form fills in. Raises WrongField."""
    return dict(_policy(form))


def _used(form: Mapping[str, str], table: str, names: Sequence[str]) -> Iterator[int]:
    """Yield the rows of which at least one of the fields is filled in."""
    for row in range(1, ROWS_MAX + 1):
        if any(form.get(f"{table}:{row}:{name}", "").strip() for name in names):
            yield row


def _demand(form: Mapping[str, str], row: int) -> Json:
    of, name = form.get(f"{DEMAND}{row}:of", "reservation"), form.get(f"{DEMAND}{row}:name", "").strip()
    one: Json = {}
    if of != "all":
        if not name:
            raise WrongField(f"{DEMAND}{row}:name", f"name the {'owner' if of == 'owner' else 'reservation'}")
        one["owner" if of == "owner" else "reservation"] = name
    for field in ("capacity_rru", "scale"):
        value = read_number(form, f"{DEMAND}{row}:{field}")
        if value is not None:
            one[field] = value
    return one


def _policy(form: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for weight in weights():
        field = f"{POLICY}{weight['name']}"
        text = form.get(field, "").strip()
        if not text:
            continue
        if weight["switch"]:
            if text not in ("true", "false"):
                raise WrongField(field, "must be true or false")
            yield weight["name"], text == "true"
        else:
            yield weight["name"], read_number(form, field)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.12g}" if isinstance(value, int | float) else str(value)
