"""Flux, the plan: traffic between regions, and services by region, now and as planned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from services.pages.api import ApiProblem, Json
from services.pages.parts.heatmap import Cell, HeatMap, Row, shade_of
from services.pages.parts.table import Column, Table
from services.pages.parts.words import count, moment_text, number, parse_moment, percent
from services.pages.views.solve import signed
from services.pages.visit import Shown, Visit

PAGES = (("", "Plan"), ("models", "Models"), ("ledger", "Ledger"), ("cycles", "Cycles"))
"""The pages of Flux: the last part of the address, and its words."""
SERVICES_MAX, PRODUCTS_MAX = 40, 20
"""Services and products with a row of their own."""
_PLANS_MAX = 20
_FIGURES = ("traffic_moved", "upsized", "freed", "growth", "deficit", "spare")
_LEAST, _LEAST_SHARE = 0.005, 0.0005
"""Smaller capacities and shares of traffic are left out of the maps."""
_FULL_SHARE = 0.1
"""Change of a share of traffic that has the darkest shade."""
SHOW = {"change": "change", "planned": "planned", "now": "now", "growth": "growth"}


def show_flux(visit: Visit) -> Shown:
    """Show one placement plan: that of the URL, or the target."""
    plans = visit.api.items("/v1/placement-plans", most=_PLANS_MAX)
    plan = _chosen(plans, visit.query.get("plan"))
    values: Json = {"plans": [{**one, "words": _name(visit, one)} for one in plans], "plan": plan, "pages": PAGES}
    if plan is None:
        return _shown(visit, values, None, [], "")
    path = f"/v1/placement-plans/{plan['placement_plan_id']}/places"
    query: Json = {name: visit.query[name] for name in ("name_contains", "hardware_type") if name in visit.query}
    query["services_max"] = SERVICES_MAX
    try:
        places = visit.api.get(path, **query)
    except ApiProblem as problem:
        if problem.status != 404:
            raise
        return _shown(visit, {**values, "places": None}, None, [f"{path}?{urlencode(query)}"], "")
    show = visit.query.get("show", "change")
    show = show if show in SHOW else "change"
    product = visit.query.get("product", "")
    first: Json = next(iter(plan["summary"].get("steps", ())), {})
    values |= {
        "places": places,
        "first": {name: first.get(name, 0.0) for name in _FIGURES},
        "withheld": plan["summary"].get("growth_withheld", 0.0),
        "growing": plan["summary"].get("traffic_growth", ()),
        "growing_max": PRODUCTS_MAX,
        "show": show,
        "modes": SHOW,
        "product": product,
        "name_contains": visit.query.get("name_contains", ""),
        "capacity": capacity_map(places, show),
        "shifts": shift_map(places, product),
        "traffic": traffic_map(places, show),
        "products_more": len(places["products"]) - PRODUCTS_MAX,
        "others": sum(one["services"] for one in places["others"]),
        "url": lambda **changes: _url(visit, changes),
    }
    source = f"{path}?{urlencode(query)}"
    return _shown(visit, values, _services(visit, places), [source], str(plan["placement_plan_id"]))


def _shown(visit: Visit, values: Json, table: Table | None, sources: list[str], plan: str) -> Shown:
    return Shown(
        template="flux_plan.html",
        title="Flux",
        section="flux",
        command=("flux", "plans", *([plan] if plan else [])),
        sources=["/v1/placement-plans", *sources],
        table=table,
        live=True,
        values={"places": None, "part": "", "table": table, **values},
    )


def _chosen(plans: Sequence[Json], wanted: str | None) -> Json | None:
    """Return the plan of the URL, else the target, else the latest one; None if there is no plan."""
    named = [one for one in plans if str(one["placement_plan_id"]) == wanted]
    return next(iter([*named, *(one for one in plans if one["target"]), *plans]), None)


def _name(visit: Visit, plan: Json) -> str:
    of = "target" if plan["target"] else "for review" if not plan["committed"] else "earlier"
    return f"{moment_text(parse_moment(plan['created_at']), visit.now)}, {of}"


def _url(visit: Visit, changes: Json) -> str:
    kept = {name: value for name, value in {**visit.query, **changes}.items() if value}
    return f"{visit.path}?{urlencode(kept)}" if kept else visit.path


def _values(one: Json, show: str) -> list[float]:
    """Return what a row shows in each region."""
    if show != "change":
        return [*map(float, one.get(show, [0.0] * len(one["now"])))]
    return [after - now for now, after in zip(one["now"], one["planned"], strict=True)]


def _said(value: float, show: str) -> str:
    """Return the words of a cell; "" for nothing worth a word."""
    if abs(value) < _LEAST:
        return ""
    return signed(round(value, 2)) or "" if show == "change" else number(value)


def capacity_map(places: Json, show: str) -> HeatMap:
    """Return services × regions. The services beyond the largest are one row for each hardware type."""
    rows = []
    named = [(one["service"], one["hardware_type"], one) for one in places["services"]]
    for other in places["others"]:
        kind = other["hardware_type"]
        named.append((f"{count(other['services'], 'other service')}, {kind}", kind, other))
    for name, kind, one in named:
        values, whole = _values(one, show), max(sum(one["planned"]), sum(one["now"]))
        full = whole / 2 / len(values) if show == "change" else whole
        cells = [
            Cell(
                text=(said := _said(value, show)),
                shade=shade_of(abs(value), full) if said else 0,
                falls=value < 0,
                tip=f"{name} in {region}: {number(one['now'][r])} now, {number(one['planned'][r])} planned, "
                f"{number(one['growth'][r])} growth",
            )
            for r, (region, value) in enumerate(zip(places["regions"], values, strict=True))
        ]
        ends = (Cell(text=number(sum(one["now"]))), Cell(text=number(sum(one["planned"]))))
        rows.append(Row(name=name, group=kind, cells=cells, ends=ends))
    return HeatMap(
        caption=f"Capacity of services by region: {SHOW[show]}",
        columns=places["regions"],
        ends=("all now", "all planned"),
        rows=rows,
        totals=(),
        collapsed=False,
        places=len(places["regions"]),
        corner="Service",
    )


def shift_map(places: Json, product: str) -> HeatMap | None:
    """Return regions × regions: the traffic that goes from one to the other; None if none does."""
    regions = places["regions"]
    found: dict[tuple[str, str], float] = {}
    by_product: dict[tuple[str, str], list[str]] = {}
    for one in places["shifts"]:
        if product in ("", one["product"]):
            pair = one["from_region"], one["to_region"]
            found[pair] = found.get(pair, 0.0) + one["share"]
            by_product.setdefault(pair, []).append(f"{one['product']} {percent(one['share'])}")
    if not found:
        return None
    most = max(found.values())
    rows = []
    for origin in regions:
        shares = [found.get((origin, to), 0.0) for to in regions]
        cells = [
            Cell(
                text=(said := _share(share)),
                shade=shade_of(share, most) if said else 0,
                tip=f"{origin} to {to}: {', '.join(by_product.get((origin, to), ['nothing']))}",
            )
            for to, share in zip(regions, shares, strict=True)
        ]
        rows.append(Row(name=origin, group="", cells=cells, ends=(Cell(text=percent(sum(shares))),)))
    arrives = [sum(found.get((origin, to), 0.0) for origin in regions) for to in regions]
    return HeatMap(
        caption="Traffic that goes from one region to another, as shares of products",
        columns=regions,
        ends=("leaves",),
        rows=rows,
        totals=[Cell(text=percent(value)) for value in (*arrives, sum(arrives))],
        collapsed=False,
        places=len(regions),
        corner="From, to",
    )


def traffic_map(places: Json, show: str) -> HeatMap:
    """Return products × regions: the share of a product's traffic. Those with the largest changes come first."""
    show = "planned" if show == "growth" else show

    def moved(one: Json) -> float:
        return float(sum(map(abs, _values(one, "change"))))

    rows = []
    for one in sorted(places["products"], key=lambda one: (-moved(one), one["product"]))[:PRODUCTS_MAX]:
        values = _values(one, show)
        cells = [
            Cell(
                text=(said := _points(value) if show == "change" else _share(value)),
                shade=shade_of(abs(value), _FULL_SHARE if show == "change" else 1.0) if said else 0,
                falls=value < 0,
                tip=f"{one['product']} in {region}: {percent(one['now'][r])} now, {percent(one['planned'][r])} planned",
            )
            for r, (region, value) in enumerate(zip(places["regions"], values, strict=True))
        ]
        ends = (Cell(text=percent(sum(one["now"]))), Cell(text=percent(sum(one["planned"]))))
        rows.append(Row(name=one["product"], group="", cells=cells, ends=ends))
    return HeatMap(
        caption=f"Traffic of products by region: {SHOW[show]}",
        columns=places["regions"],
        ends=("all now", "all planned"),
        rows=rows,
        totals=(),
        collapsed=False,
        places=len(places["regions"]),
        corner="Product",
    )


def _share(share: float) -> str:
    return percent(share) if share >= _LEAST_SHARE else ""


def _points(share: float) -> str:
    """Return a change of a share with its sign; "" if there is none."""
    if abs(share) < _LEAST_SHARE:
        return ""
    return f"{signed(round(100 * share, 1))} %"


def _services(visit: Visit, places: Json) -> Table:
    """Return the services that the map shows, as a table: a row for each service and region."""
    rows: list[Json] = [
        {"service": one["service"], "hardware_type": one["hardware_type"], "region": region}
        | {name: one[name][r] for name in ("now", "planned", "growth")}
        for one in places["services"]
        for r, region in enumerate(places["regions"])
    ]

    def amount(key: str, title: str) -> Column:
        return Column(key, title, lambda row: row[key], number=True)

    def change(row: Json) -> Any:
        return row["planned"] - row["now"]

    return Table(
        name="flux-capacity",
        caption="Capacity by service and region",
        columns=[
            Column("service", "Service", lambda row: row["service"]),
            Column("region", "Region", lambda row: row["region"]),
            Column("type", "Hardware type", lambda row: row["hardware_type"]),
            amount("now", "Now"),
            amount("planned", "Planned"),
            Column("change", "Change", change, lambda row: signed(round(change(row), 2)), number=True),
            amount("growth", "Growth"),
        ],
        rows=rows,
        path=visit.path,
        query=visit.query,
        empty="No service passes these filters.",
    )
