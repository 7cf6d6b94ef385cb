"""Choose the domains of all reservations with a `domains_max` together (docs/designs/0054)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np

from libs.domain.arrays import Bools, Floats, Indices
from libs.domain.fleet import FleetSnapshot
from libs.domain.limited_kinds import LimitedKind
from libs.mip.highs import Limits, solve_mip
from libs.mip.model import Model
from libs.ras.zone_program import ROUNDING, Cells, ZoneProgram
from libs.ras.zones_one_by_one import Choice

PAIRS_MAX, COLUMNS_MAX = 5_000, 40_000
"""Most pairs of a reservation and a domain, and most pairs of a reservation and a cell, of a program that is tried."""
SERVERS_MAX = 20_000_000
"""Most reservations times servers of a program that is tried, to bound its memory."""
ALL_MAX, ALL_COLUMNS_MAX = 1_000_000, 2_000
"""Most reservations times servers, and most pairs of a reservation and a cell, of a program for all reservations."""
EXACT_MAX = 200
"""Most pairs of a reservation and a cell of a program that is solved as a whole. Of a larger one, a few domains are
chosen again at a time.
"""
NODES, FEW_NODES = 500, 5
"""Most nodes of the tree of a program that is solved as a whole, and of one for few domains."""
TRIES, TRIES_COLUMNS = 20, 1_000_000
"""Choices of a few domains that in a row find nothing better, after which the search ends. It also ends after so many
choices times columns, but not before that number of choices.
"""
HEURISTICS = 0.3
"""Share of the effort spent on better choices. The bound is far below them, as for all packing."""
GAP = 1e-3
"""Gap at which a choice is good enough."""


def choose_together(
    snapshot: FleetSnapshot,
    kinds: Sequence[LimitedKind],
    choice: Choice,
    some: Indices,
    usable: Callable[[int], Bools],
    held: Indices,
    stay: Bools,
    *,
    until: float = math.inf,
    cancelled: Callable[[], bool] | None = None,
) -> Sequence[Bools]:
    """Return the domains (R, N) of each kind that leave less penalty than those of `choice`, or these.

    kinds   those with a `domains_max`
    choice  the domains that were chosen one by one
    some    (Q,) the reservations that have one
    usable  returns the servers (S,) that a reservation could have if no other one claimed any
    held    (S,) the servers that reservations hold
    stay    (R,) reservations that keep the domains of `choice`
    until   a time.perf_counter()
    """
    known = choice.opened
    pairs = sum(int(np.isfinite(kind.domains_max[some]).sum()) * kind.placed for kind in kinds)
    if pairs > PAIRS_MAX or len(some) * len(held) > SERVERS_MAX or stay[some].all():
        return known
    cells, every = None, np.arange(len(stay), dtype=np.int32)
    if len(every) * len(held) <= ALL_MAX:
        cells, part = Cells.of(snapshot, every, usable, held), every
    if cells is None or len(cells.cell) > ALL_COLUMNS_MAX:
        cells, part = Cells.of(snapshot, some, usable, held), some
    if len(cells.cell) > COLUMNS_MAX:
        return known
    program = ZoneProgram(snapshot, kinds, part, cells, held)
    first = solve_mip(program.fixed(known, np.ones(len(stay), bool)), _limits(until), cancelled=cancelled).x
    if first is None or program.penalty(first) <= ROUNDING:
        return known
    model = program.fixed(known, stay)
    if len(cells.cell) <= EXACT_MAX:
        found = solve_mip(model, _limits(until), start=first, heuristics=HEURISTICS, cancelled=cancelled).x
    else:
        found = _few_at_a_time(program, model, first, choice.hopeless, until, cancelled)
    better = found is not None and program.penalty(found) < program.penalty(first) * (1 - ROUNDING)
    return program.chosen(found, known) if better and found is not None else known


def _few_at_a_time(
    program: ZoneProgram, model: Model, x: Floats, hopeless: Bools, until: float, cancelled: Callable[[], bool] | None
) -> Floats:
    """Return a point (C,) that costs no more than `x` (C,): choose a few domains again at a time, among them those of a
    reservation that lacks something. Those that are `hopeless` (R,) do not count.
    """
    rng, failed = np.random.default_rng(0), 0
    for _ in range(max(TRIES, TRIES_COLUMNS // len(x))):
        few = program.around(model, x, hopeless, rng)
        ends = failed == TRIES or time.perf_counter() >= until or (cancelled is not None and cancelled())
        if few is None or ends:
            break
        found = solve_mip(few, _limits(until, FEW_NODES), start=x, cancelled=cancelled).x
        gains = found is not None and model.objective(found) < model.objective(x) - ROUNDING * abs(model.objective(x))
        failed = 0 if gains else failed + 1
        x = found if gains and found is not None else x
    return x


def _limits(until: float, nodes_max: int = NODES) -> Limits:
    """Return the limits of a program that ends by `until`, a time.perf_counter()."""
    return Limits(relative_gap=GAP, nodes_max=nodes_max, time_s_max=max(until - time.perf_counter(), 0.0))
