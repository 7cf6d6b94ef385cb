"""Sum up the solves of a run in a few figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soak.solves.notes import Row

_QUANTILES = ("processor_s", "wall_s", "gap", "gap_in_preemptions")


def summary_of(rows: Sequence[Row]) -> dict[str, object]:
    """Return quantiles of times and gaps, sums of moves, and what the plans hold, over all solves.

    rows   at least one
    """
    columns = {name: np.array([row[name] for row in rows], float) for name in rows[0]}
    in_use, idle = float(columns["moved_in_use"].sum()), float(columns["moved_idle"].sum())
    broken = columns["broken_before"] > 0
    found: dict[str, object] = {"solves": len(rows)}
    for name in _QUANTILES:
        found[name] = dict(zip(("median", "p90", "most"), _quantiles(columns[name]), strict=True))
    least = float(columns["least_embedded_rru"].sum())
    return found | {
        "solves_within_200_preemptions": float((columns["gap_in_preemptions"] <= 200).mean()),
        "solves_with_broken_reservations": int(broken.sum()),
        "of_these_left_with_fewer_or_none": int((columns["broken_after"] < columns["broken_before"])[broken].sum()),
        "broken_at_most_after": int(columns["broken_after"].max()),
        "moved_in_use": int(in_use),
        "moved_idle": int(idle),
        "idle_per_in_use": round(idle / in_use, 2) if in_use else None,
        "embedded_to_least": round(float(columns["embedded_rru"].sum()) / least, 3) if least else None,
        "last": dict(rows[-1]),
    }


def _quantiles(values: np.ndarray) -> list[float]:
    known = values[np.isfinite(values)]
    return [round(float(one), 4) for one in np.quantile(known, [0.5, 0.9, 1.0])] if len(known) else [0.0] * 3
