"""Compute the effect of the move of one server to another reservation, by evaluation and not by estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from libs.domain.fleet import FREE, FleetSnapshot, TargetPlan
from libs.domain.violation import Violation
from libs.plan_check.check import check_plan
from libs.ras.evaluate import Coverage, Score, costs_by_reservation, coverage_of, evaluate
from libs.ras.single_reservation import with_servers


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The RRU of a reservation.

    total_rru         all servers of the reservation
    worst_msb_rru     its servers in the MSB that holds most of them
    shortfall_rru     the RRU that the reservation lacks
    off_affinity_rru  the RRU outside the affinity bands of its datacenters
    """

    total_rru: float
    worst_msb_rru: float
    shortfall_rru: float
    off_affinity_rru: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Affected:
    """A reservation that gains or loses a server by the move."""

    reservation: str
    before: Standing
    after: Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveEffect:
    """The effect of the move of one server, while all other servers keep their targets.

    from_reservation, to_reservation  the reservations before and after the move; None: the server is free
    before, after                     the costs of the whole region by term
    affected                          the reservations that gain or lose the server
    violations                        rules of plan_check that forbid the move in any plan
    """

    server: str
    from_reservation: str | None
    to_reservation: str | None
    before: Score
    after: Score
    affected: tuple[Affected, ...]
    violations: tuple[Violation, ...]

    @property
    def costs(self) -> float:
        """Return the increase of the total cost of the region by the move. Below 0, the region would be better off."""
        return self.after.total - self.before.total


def move_effect(snapshot: FleetSnapshot, server: int, to: int) -> MoveEffect:
    """Return the effect of the move of the server in row `server` to the reservation in row `to`, or to FREE."""
    return _effects(snapshot, server, [to])[0]


def alternatives(snapshot: FleetSnapshot, server: int, *, most: int = 3) -> tuple[MoveEffect, ...]:
    """Return the effects of the best moves of the server in row `server`.

    These are the move to FREE if a reservation has the server, and the moves to the `most` reservations where it would
    cost least.
    """
    here, rru = np.maximum(snapshot.servers.target, FREE), snapshot.reservations.rru
    home = int(here[server])
    before = costs_by_reservation(snapshot, here)
    takers = np.flatnonzero((rru[:, snapshot.servers.hardware_type[server]] > 0) & (np.arange(len(rru)) != home))
    # each reservation as if it had one more such server
    rows = np.concatenate([np.arange(len(here)), np.full(len(takers), server)])
    imagined = with_servers(snapshot, rows.astype(np.int32))
    after = costs_by_reservation(imagined, np.concatenate([here, takers]).astype(np.int32))
    nearest = takers[np.argsort((after - before)[takers], kind="stable")][:most]
    elsewhere = [*([FREE] if home >= 0 else []), *nearest.tolist()]
    return _effects(snapshot, server, elsewhere)


def _effects(snapshot: FleetSnapshot, server: int, elsewhere: Sequence[int]) -> tuple[MoveEffect, ...]:
    """Return the effect of the move of the server in row `server` to each reservation in `elsewhere`."""
    here = np.maximum(snapshot.servers.target, FREE)
    names, home = snapshot.reservations.name, int(here[server])
    before, has = evaluate(snapshot, here), coverage_of(snapshot, here)
    effects = []
    for to in elsewhere:
        there = here.copy()
        there[server] = to
        gets = coverage_of(snapshot, there)
        plan = TargetPlan(target=there, parent_plan_id=snapshot.target_plan_id)
        effects.append(
            MoveEffect(
                server=str(snapshot.servers.name[server]),
                from_reservation=str(names[home]) if home >= 0 else None,
                to_reservation=str(names[to]) if to >= 0 else None,
                before=before,
                after=evaluate(snapshot, there),
                affected=tuple(
                    Affected(reservation=str(names[r]), before=standing_of(has, r), after=standing_of(gets, r))
                    for r in dict.fromkeys((home, to))
                    if r >= 0
                ),
                violations=tuple(check_plan(snapshot, plan)),
            )
        )
    return tuple(effects)


def standing_of(covered: Coverage, r: int) -> Standing:
    """Return the RRU of the reservation in row `r`, as `covered` has it."""
    return Standing(
        total_rru=float(covered.total[r]),
        worst_msb_rru=float(covered.worst_msb[r]),
        shortfall_rru=_more_than_rounding(covered.shortfall[r]),
        off_affinity_rru=_more_than_rounding(covered.off_affinity[r].sum()),
    )


def _more_than_rounding(rru: float) -> float:
    """Return `rru`, or 0 if it is only a residue of rounding."""
    return float(rru) if rru > 1e-9 else 0.0
