"""The question of a what-if: as a form and an address, as a body for the API, as sentences, and as a command line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from libs.domain.domain_kind import MSB_KIND
from libs.domain.policy import RegionPolicy
from services.pages.api import Json
from services.pages.form_fields import WrongField, read_number
from services.pages.parts.words import count, number, percent, spaced

LOSE, WITHOUT, POLICY, DEMAND, RACKS, POWER = "lose:", "without:", "policy:", "demand:", "racks:", "power:"
"""Prefixes of the form's fields. `lose:msb:NAME` and `without:TYPE` are boxes; `demand:ROW:...` is one of many rows."""
LISTS = {"lose_msbs": "msb", "lose_racks": "rack"}
"""Fields with names between commas -> the scope of what they lose."""
ROWS_MAX = 100
"""Largest number of rows of one kind, as in the API."""
_SPARE_ROWS = 2
_ROW = re.compile(r"(demand|racks|power):(\d{1,3}):([a-z_]+)")
_PATH = re.compile(r"([a-z_]{1,40})(?:\[|\.)(\d{1,9})\]?(?:\.(.{1,200}))?")
"""A place in a list of the body, as in `demand[0].owner` and `demand.0.scale`."""
_ROWS_OF = ("demand", "add_racks", "power_limits")
"""Lists of the API's body of which each entry is a row of the form."""
_ROW_WORDS = {"demand": "Demand", "racks": "New racks", "power": "Power"}
_OPTIONS = {"msb": "--lose-msb", "datacenter": "--lose-datacenter", "rack": "--lose-rack"}


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
    lose = [*_boxes(form), *_listed(form)]
    where |= {f"lose[{k}]": field for k, (field, _) in enumerate(lose)}
    demand = [*_rows(form, DEMAND, ("name", "capacity_rru", "scale"))]
    where |= {f"demand[{k}]": f"{DEMAND}{row}" for k, row in enumerate(demand)}
    racks = [*_rows(form, RACKS, ("msb", "hardware_type", "servers_per_rack", "racks"))]
    where |= {f"add_racks[{k}]": f"{RACKS}{row}" for k, row in enumerate(racks)}
    types = [key.removeprefix(WITHOUT) for key in form if key.startswith(WITHOUT) and form[key]]
    where |= {f"remove_hardware_types[{k}]": f"{WITHOUT}{name}" for k, name in enumerate(types)}
    withdrawn = _names(form, "withdraw_racks")
    where |= {f"withdraw_racks[{k}]": "withdraw_racks" for k in range(len(withdrawn))}
    power = [*_rows(form, POWER, ("domain", "limit_w"))]
    where |= {f"power_limits[{k}]": f"{POWER}{row}" for k, row in enumerate(power)}
    body: Json = {
        "policy": read_policy(form),
        "demand": [_demand(form, row) for row in demand],
        "lose": [one for _, one in lose],
        "add_racks": [_racks(form, row) for row in racks],
        "remove_hardware_types": types,
        "withdraw_racks": withdrawn,
        "power_limits": [_power_limit(form, row) for row in power],
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
        racks = [one["name"] for one in what_if["lose"] if one["scope"] == "rack"]
        form |= {f"{LOSE}{one['scope']}:{one['name']}": "on" for one in what_if["lose"] if one["scope"] != "rack"}
        form |= {"lose_racks": ", ".join(racks), "withdraw_racks": ", ".join(what_if["withdraw_racks"])}
        form |= {f"{WITHOUT}{name}": "on" for name in what_if["remove_hardware_types"]}
        for row, one in enumerate(what_if["add_racks"], 1):
            form |= {f"{RACKS}{row}:{name}": _text(value) for name, value in one.items()}
        for row, one in enumerate(what_if["power_limits"], 1):
            form |= {f"{POWER}{row}:{name}": _text(value) for name, value in one.items()}
    return {name: value for name, value in form.items() if value}


def sentences(what_if: Json) -> list[str]:
    """Return what a question assumes, a clause each. Takes a body of a request or the `what_if` of an answer."""
    said = [f"{one['name']} is lost" for one in what_if.get("lose", ())]
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
    options = [(_OPTIONS[one["scope"]], one["name"]) for one in what_if.get("lose", ())]
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
    options += [("--policy", f"{name}={_text(value)}") for name, value in (what_if.get("policy") or {}).items()]
    return ("simulate", region, *(part for option in options or [("--lose-msb", "MSB")] for part in option))


def words_of(field: str) -> str:
    """Return how people find a field on the page."""
    found = _ROW.fullmatch(field)
    if found is not None:
        return f"{_ROW_WORDS[found[1]]}, row {found[2]}, {spaced(found[3]).lower()}"
    for prefix in (POLICY, f"{LOSE}msb:", f"{LOSE}datacenter:", WITHOUT):
        if field.startswith(prefix):
            return spaced(field.removeprefix(prefix))
    return spaced(field)


def read_policy(form: Mapping[str, str]) -> Json:
    """Return the new values of the weights that the form fills in. Raises WrongField."""
    return dict(_policy(form))


def _boxes(form: Mapping[str, str]) -> Iterator[tuple[str, Json]]:
    for key in form:
        scope, _, name = key.removeprefix(LOSE).partition(":")
        if key.startswith(LOSE) and form[key] and scope in _OPTIONS and name:
            yield key, {"scope": scope, "name": name}


def _listed(form: Mapping[str, str]) -> Iterator[tuple[str, Json]]:
    for field, scope in LISTS.items():
        for name in _names(form, field):
            yield field, {"scope": scope, "name": name}


def _names(form: Mapping[str, str], field: str) -> list[str]:
    return [name for part in form.get(field, "").split(",") if (name := part.strip())]


def _rows(form: Mapping[str, str], prefix: str, needed: Sequence[str]) -> Iterator[int]:
    """Yield the rows of which at least one of the fields is filled in."""
    for row in range(1, ROWS_MAX + 1):
        if any(form.get(f"{prefix}{row}:{name}", "").strip() for name in needed):
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


def _racks(form: Mapping[str, str], row: int) -> Json:
    one: Json = {}
    for field in ("msb", "hardware_type"):
        one[field] = form.get(f"{RACKS}{row}:{field}", "").strip()
        if not one[field]:
            raise WrongField(f"{RACKS}{row}:{field}", "is required")
    for field, needed in (("servers_per_rack", True), ("racks", False)):
        value = read_number(form, f"{RACKS}{row}:{field}", needed=needed)
        if value is not None:
            one[field] = int(value) if value.is_integer() else value
    return one


def _power_limit(form: Mapping[str, str], row: int) -> Json:
    one: Json = {"domain": form.get(f"{POWER}{row}:domain", "").strip()}
    if not one["domain"]:
        raise WrongField(f"{POWER}{row}:domain", "is required")
    kind = form.get(f"{POWER}{row}:kind", "").strip()
    if kind:
        one["kind"] = kind
    for field, needed in (("limit_w", True), ("headroom", False)):
        value = read_number(form, f"{POWER}{row}:{field}", needed=needed)
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
