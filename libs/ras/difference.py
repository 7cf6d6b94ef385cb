"""What a what-if changes: the region as it is, the same the moment it happens, and after the solve that answers it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from libs.domain.fleet import FREE, FleetSnapshot, Indices
from libs.ras.evaluate import Score, coverage_of, evaluate

MOVES_SHOWN_MAX = 200
_SAME_RRU = 1e-6


def difference(before: FleetSnapshot, imagined: FleetSnapshot, target: Indices) -> dict[str, Any]:
    """As JSON: costs by term, reservations that differ, hardware types, moves.

    target   (S',) the answer, for the servers of `imagined`: those of `before` and then those that it adds
    now      the region as it is; at_once: as imagined, nothing moved yet; after: as imagined, with the answer
    """
    present = np.maximum(before.servers.target, FREE)
    stay = np.maximum(imagined.servers.target, FREE)
    moved = np.flatnonzero(target != stay)
    return {
        "cost": {
            "now": _score(evaluate(before, present)),
            "at_once": _score(evaluate(imagined, stay)),
            "after": _score(evaluate(imagined, target)),
        },
        "reservations": _reservations(before, imagined, present, stay, target),
        "hardware_types": _hardware_types(before, imagined, present, target),
        "moves": len(moved),
        "moves_shown": [_move(imagined, int(row), stay, target) for row in moved[:MOVES_SHOWN_MAX]],
    }


def _reservations(
    before: FleetSnapshot, imagined: FleetSnapshot, present: Indices, stay: Indices, target: Indices
) -> list[dict[str, Any]]:
    """Those of which anything differs, or that are short; new ones have nothing before."""
    was, shocked, becomes = coverage_of(before, present), coverage_of(imagined, stay), coverage_of(imagined, target)
    lacked, lacks, will_lack = (np.where(c.shortfall > _SAME_RRU, c.shortfall, 0.0) for c in (was, shocked, becomes))
    old, new = len(before.reservations), len(imagined.reservations)
    gained = np.bincount(target[(target >= 0) & (target != stay)], minlength=new)
    lost = np.bincount(stay[(stay >= 0) & (target != stay)], minlength=new)
    rows = []
    for r in range(new):
        known = r < old
        row: dict[str, Any] = {
            "reservation": str(imagined.reservations.name[r]),
            "capacity_rru_now": float(before.reservations.capacity_rru[r]) if known else 0.0,
            "capacity_rru": float(imagined.reservations.capacity_rru[r]),
            "total_rru_now": float(was.total[r]) if known else 0.0,
            "total_rru_after": float(becomes.total[r]),
            "short_rru_now": float(lacked[r]) if known else 0.0,
            "short_rru_at_once": float(lacks[r]),
            "short_rru_after": float(will_lack[r]),
            "gained": int(gained[r]),
            "lost": int(lost[r]),
        }
        short = max(row["short_rru_now"], row["short_rru_at_once"], row["short_rru_after"])
        resized = abs(row["capacity_rru"] - row["capacity_rru_now"]) > _SAME_RRU
        if short > _SAME_RRU or resized or row["gained"] or row["lost"]:
            rows.append(row)
    return rows


def _hardware_types(
    before: FleetSnapshot, imagined: FleetSnapshot, present: Indices, target: Indices
) -> list[dict[str, Any]]:
    """Servers that are up, bound and free, of every type; what is to be retired is not free."""
    T = len(imagined.hardware_types)

    def count(snapshot: FleetSnapshot, chosen: np.ndarray[Any, Any]) -> list[int]:
        return [int(n) for n in np.bincount(snapshot.servers.hardware_type[chosen], minlength=T)]

    columns = {
        "bound_now": count(before, before.servers.available & (present >= 0)),
        "free_now": count(before, before.servers.lasting & (present < 0)),
        "bound_after": count(imagined, imagined.servers.available & (target >= 0)),
        "free_after": count(imagined, imagined.servers.lasting & (target < 0)),
    }
    return [
        {"hardware_type": str(name), **{column: values[t] for column, values in columns.items()}}
        for t, name in enumerate(imagined.hardware_types)
    ]


def _move(snapshot: FleetSnapshot, row: int, stay: Indices, target: Indices) -> dict[str, Any]:
    names = snapshot.reservations.name
    there = {"from_reservation": int(stay[row]), "to_reservation": int(target[row])}
    return {
        "server": str(snapshot.servers.name[row]),
        **{end: str(names[r]) if r >= 0 else None for end, r in there.items()},
        "in_use": bool(snapshot.servers.in_use[row]),
    }


def _score(score: Score) -> dict[str, Any]:
    return {**asdict(score), "penalty": score.penalty, "total": score.total}
