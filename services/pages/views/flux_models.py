"""Flux, the models: how well they explain the measured capacity, and one of them with its points and residuals."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from services.pages.api import ApiProblem, Json
from services.pages.parts.pictures import Part, Series, bar_svg, legend
from services.pages.parts.scatter import cycles_svg, fit_svg
from services.pages.parts.table import Choice, Column, Table
from services.pages.parts.words import moment_text, parse_moment, percent, spaced
from services.pages.views.flux_plan import PAGES
from services.pages.views.solve import signed
from services.pages.visit import Shown, Visit, link_markup, segment

_MOST = 1000
_RUNS = 26
_COLOURS = ("f1", "f2", "f3", "f4", "f5", "f6")
_LESS = "Measured less explained"
_EMPTY = "No model was made yet. A plan makes them from traces and usage: `plimsoll flux run` asks for one."


def _path(service: str) -> str:
    return f"/flux/models/{segment(service)}"


def show_models(visit: Visit) -> Shown:
    """Show the models of the latest run."""
    confidence = visit.query.get("confidence")
    query = {"confidence": confidence, "brief": "true"} if confidence in ("high", "low") else {"brief": "true"}
    found = visit.api.items("/v1/service-models", most=_MOST, **query)

    def of(key: str) -> Any:
        return lambda row: row["document"].get(key)

    def share(key: str, title: str, hint: str) -> Column:
        return Column(key, title, of(key), lambda row: percent(of(key)(row)), number=True, hint=hint)

    table = Table(
        name="flux-models",
        caption="Service models",
        columns=[
            Column("service", "Service", lambda row: row["service"], _link),
            Column("confidence", "Confidence", lambda row: row["confidence"], _badge),
            share("error", "Error", "Of the model on the measured use, as a share of it"),
            Column("capacity", "Capacity", of("capacity"), number=True, hint="Worldwide, at peak"),
            Column("type", "Hardware type", of("hardware_type")),
            Column("metric", "Metric", of("metric"), hint="What explains its use best"),
            share("sampling_error", "Sampling", "Error of the attribution because spans are few"),
            share("coverage", "Coverage", "Spans with a known gateway"),
            Column("spans", "Spans", of("spans"), number=True),
        ],
        rows=found,
        path=visit.path,
        query=visit.query,
        choices=[Choice("confidence", "Confidence", [("high", "high"), ("low", "low")])],
        empty=_EMPTY,
        order="-error",
        cut=f"These are the first {_MOST:,} services: filter to see others." if len(found) == _MOST else "",
    )
    low = sum(one["confidence"] == "low" for one in found)
    return Shown(
        template="flux_models.html",
        title="Flux: models",
        section="flux",
        command=("flux", "figures"),
        sources=[f"/v1/service-models?{urlencode(query)}"],
        table=table,
        live=True,
        values={"pages": PAGES, "part": "models", "low": low, "all": len(found)},
    )


def _link(row: Json) -> Markup:
    return link_markup(_path(row["service"]), row["service"])


def _badge(row: Json) -> Markup:
    reasons = row["document"].get("reasons") or []
    said = ", ".join(spaced(reason).lower() for reason in reasons)
    kind = "good" if row["confidence"] == "high" else "warn"
    badge = Markup('<span class="badge {}">{}</span>').format(kind, spaced(row["confidence"]))
    return badge + Markup(" <small>{}</small>").format(said) if said else badge


def show_model(visit: Visit) -> Shown:
    """Show the model of one service: its points, fit and residuals, and its error over runs."""
    service = visit.place("service")
    found = visit.api.get("/v1/service-models", service=service)["items"]
    if not found:
        detail = f"The latest models have no {service}. It may be new, or without measurements."
        raise ApiProblem(404, {"title": "There is no such model", "detail": detail})
    document = found[0]["document"]
    points = [
        {"region": region, "measured": measured, "explained": measured - document["residual"].get(region, 0.0)}
        for region, measured in sorted(document["baseline"].items())
    ]
    past = visit.api.get("/v1/model-figures", service=service, last=_RUNS)
    named = urlencode({"service": service})
    return Shown(
        template="flux_model.html",
        title=service,
        section="flux",
        command=("flux", "figures", "--service", service),
        sources=[f"/v1/service-models?{named}", f"/v1/model-figures?{named}"],
        table=(table := _points(visit, points, sum(document["baseline"].values()))),
        live=True,
        values={
            "pages": PAGES,
            "part": "models",
            "model": document,
            "badge": _badge(found[0]),
            "points": table,
            "fit": fit_svg(
                f"Measured against explained capacity of {service}",
                [(one["region"], one["explained"], one["measured"]) for one in points],
            ),
            "attribution": _attribution(document),
            "past": _past(visit, past),
        },
    )


def _points(visit: Visit, rows: list[Json], whole: float) -> Table:
    def residual(row: Json) -> float:
        return float(row["measured"] - row["explained"])

    def amount(key: str, title: str, hint: str) -> Column:
        return Column(key, title, lambda row: row[key], number=True, hint=hint)

    def share(row: Json) -> float | None:
        return residual(row) / whole if whole else None

    return Table(
        name="flux-model",
        caption="Measured and explained capacity by region",
        columns=[
            Column("region", "Region", lambda row: row["region"]),
            amount("measured", "Measured", "Capacity in use in the daily peak window"),
            amount("explained", "Explained", "By the traffic of products, as the model says"),
            Column("residual", "Residual", residual, lambda row: signed(round(residual(row), 2)), True, _LESS),
            Column("share", "Of the service", share, lambda row: _signed_share(share(row)), number=True),
        ],
        rows=rows,
        path=visit.path,
        query=visit.query,
        empty="Nothing was measured.",
        order="region",
        searched=False,
    )


def _signed_share(value: float | None) -> str | None:
    if value is None:
        return None
    return f"{'+' if value > 0 else ''}{100 * value:.1f} %".replace("-", "\N{MINUS SIGN}")


def _attribution(document: Json) -> Json:
    """Return the parts of a service's capacity by product; beyond five products, the rest is one part."""
    whole = sorted(((share, product) for product, share in document["attribution"].items() if share > 0), reverse=True)
    named, rest = whole[:5], sum(share for share, _ in whole[5:])
    parts = [Part(product, colour, 100 * share) for (share, product), colour in zip(named, _COLOURS, strict=False)]
    if rest:
        parts.append(Part(f"{len(whole) - 5} others", _COLOURS[5], 100 * rest))
    words = [(part.colour, f"{part.name} {percent(part.value / 100)}") for part in parts]
    return {"svg": bar_svg("Capacity by product, %", parts), "legend": legend(words)}


def _past(visit: Visit, found: Json) -> Json | None:
    """Return error and residual over runs; None with fewer than two runs."""
    if len(found["runs"]) < 2 or not found["services"]:
        return None
    runs = found["services"][0]["runs"]

    def row(key: str) -> list[float | None]:
        return [None if one is None or one[key] is None else 100 * one[key] for one in runs]

    lines = [Series("error", "l1", row("error")), Series("residual", "l5", row("residual"), dashed=True)]
    cycles = [moment_text(parse_moment(run["finished_at"]), visit.now).partition(",")[0] for run in found["runs"]]
    return {
        "svg": cycles_svg("Error and residual over runs, %", cycles, lines),
        "legend": legend([("f1", "error, %"), ("f5", "residual, % of the capacity (dashed)")]),
    }
