"""Draw the solves of a run as SVG files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from libs.domain.arrays import Floats
from libs.pictures.bars import bars_svg
from libs.pictures.lines import LineChart, charts_svg
from soak.solves.notes import Row

_WIDTH, _HEIGHT = 420.0, 150.0
_TIME = (
    ("Seconds of a solve", {"processor": "processor_s", "wall clock": "wall_s"}, False),
    ("Gap to the lower bound", {"gap": "gap"}, True),
    ("Gap in moves of a server in use", {"moves": "gap_in_preemptions"}, False),
    ("Reservations short or off their shares", {"before": "broken_before", "after": "broken_after"}, False),
)
_PLAN = (
    ("Servers that a solve moves", {"in use": "moved_in_use", "idle": "moved_idle"}, False),
    ("Embedded buffers, RRU", {"held": "embedded_rru", "least possible": "least_embedded_rru"}, False),
    (
        "Largest MSB of a reservation, mean share",
        {
            "before": "largest_msb_share_before",
            "after": "largest_msb_share_after",
            "least possible": "least_msb_share",
        },
        True,
    ),
    (
        "Capacity outside datacenter shares",
        {"before": "outside_affinity_before", "after": "outside_affinity_after"},
        True,
    ),
    (
        "Servers in reservations by MSB: deviation / mean",
        {"before": "servers_variation_before", "after": "servers_variation_after"},
        True,
    ),
    ("Reservations", {"reservations": "reservations"}, False),
)
"""Charts: title, name of a line -> figure, and whether it is a share."""


def pictures_of(rows: Sequence[Row], goals: Mapping[str, Mapping[str, float]]) -> dict[str, str]:
    """Return the SVG by file name.

    rows    a row for each solve, oldest first
    goals   set of goals -> the figures of a placement
    """
    shown = ("largest_msb_share", "outside_affinity", "servers_variation")
    values = np.array([[found[name] for name in shown] for found in goals.values()])
    words = ["largest MSB", "outside shares", "servers by MSB"]
    return {
        "time-and-gap.svg": _charts(f"Time and gap of {len(rows)} hourly solves", rows, _TIME),
        "plans.svg": _charts(f"The plans of {len(rows)} hourly solves", rows, _PLAN),
        "goals.svg": bars_svg("Plans from nothing, with and without goals", list(goals), words, values, percent=True),
    }


def _charts(title: str, rows: Sequence[Row], charts: Sequence[tuple[str, Mapping[str, str], bool]]) -> str:
    return charts_svg(
        title,
        [
            LineChart(
                title=name,
                cycles=[f"{row['hour']:.0f} h" for row in rows],
                series=list(lines),
                values=_values(rows, lines),
                percent=is_share,
                width=_WIDTH,
                height=_HEIGHT,
            )
            for name, lines, is_share in charts
        ],
        columns=2,
    )


def _values(rows: Sequence[Row], lines: Mapping[str, str]) -> Floats:
    return np.array([[row[figure] for row in rows] for figure in lines.values()], float)
