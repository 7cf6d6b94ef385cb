"""Define the stored report of a simulation, and convert it to JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from libs.ras.difference import Costs, Difference, HardwareTypeDifference, ReservationDifference, ShownMove
from libs.ras.evaluate import Score
from libs.ras.power_report import DomainPowerDifference
from libs.ras.uplink_report import RackDifference, UplinksAbove, UplinksDifference


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A reservation of the what-if that no state of the region could meet, with the reason that admission gives."""

    reservation: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationReport:
    """The report of a simulation, which is a solve of a what-if.

    difference  the effects of the what-if
    refused     the reservations that no state of the region could meet
    solve       the report of the solve, as JSON
    waves       the waves in which the answer can be carried out, as JSON (libs/ras/waves/report.py); None in reports of
                older versions
    """

    difference: Difference
    refused: tuple[Refusal, ...]
    solve: Mapping[str, Any]
    waves: Mapping[str, Any] | None = None


def report_as_json(report: SimulationReport) -> dict[str, Any]:
    """Return `report` as the JSON document that is stored and shown."""
    found = asdict(report.difference)
    for moment in fields(Costs):
        score: Score = getattr(report.difference.cost, moment.name)
        found["cost"][moment.name] |= {"penalty": score.penalty, "total": score.total}
    for name in ("reservations", "power", "uplinks"):
        if found[name] is None:
            del found[name]
    if found.get("uplinks", {}).get("racks", ()) is None:
        del found["uplinks"]["racks"]
    return {
        **found,
        "refused": [asdict(one) for one in report.refused],
        "solve": dict(report.solve),
        "waves": report.waves,
    }


def report_of_json(found: Mapping[str, Any]) -> SimulationReport:
    """Return the report that the document `found` has, as written by `report_as_json`.

    Raises: KeyError or TypeError for any other document.
    """
    rows, power = found.get("reservations"), found.get("power")
    return SimulationReport(
        difference=Difference(
            cost=Costs(**{name: _score(terms) for name, terms in found["cost"].items()}),
            reservations=None if rows is None else tuple(ReservationDifference(**row) for row in rows),
            hardware_types=tuple(HardwareTypeDifference(**row) for row in found["hardware_types"]),
            moves=found["moves"],
            moves_shown=tuple(ShownMove(**row) for row in found["moves_shown"]),
            power=None if power is None else tuple(DomainPowerDifference(**row) for row in power),
            power_limits=found.get("power_limits", 0),
            uplinks=None if found.get("uplinks") is None else _uplinks(found["uplinks"]),
            short_of=found.get("short_of", {}),
        ),
        refused=tuple(Refusal(**one) for one in found["refused"]),
        solve=found["solve"],
        waves=found.get("waves"),
    )


def _uplinks(found: Mapping[str, Any]) -> UplinksDifference:
    racks, moments = found.get("racks"), ("now", "at_once", "after")
    return UplinksDifference(
        limits=found["limits"],
        racks=None if racks is None else tuple(RackDifference(**row) for row in racks),
        **{moment: UplinksAbove(**found[moment]) for moment in moments},
    )


def _score(terms: Mapping[str, Any]) -> Score:
    """Return a score. Reports of older versions lack the latest terms, which then cost nothing."""
    return Score(**{term.name: terms[term.name] for term in fields(Score) if term.name in terms})
