"""State the limits on the power of domains, and the balance of power over MSBs (docs/designs/0055-power.md)."""

from __future__ import annotations

import numpy as np

from libs.assignment import CountBound, GroupCountSpec, Limit, Problem
from libs.domain.arrays import Floats, Indices
from libs.domain.fleet import FREE, FleetSnapshot
from libs.domain.power_balance import STEPS, W_PER_KW, levels_w, msb_w
from libs.domain.power_use import FedKind, allowed_w, by_limit, drawn_w, gains_w, room_w, tight_kinds
from libs.ras.statement_names import GAIN_W, MSB, OBJECTIVE, POWER_KW, UNBOUND


def add_power_limits(snapshot: FleetSnapshot, problem: Problem, rows: Indices) -> None:
    """Add the limits on the power of domains as constraints. `rows` are those of the objects in the snapshot.

        sum_{s in d} gain[s] [s is free]              >=  sum_{s in d} gain[s] - max(0, room[d])
        sum_{s in d} (full[s] - idle[s]) [s is free]  >=  the W that bring d below its limit

    gain[s] is full[s] - idle[s] if s counts as idle now, and 0 if it counts in full already. So all servers with a gain
    begin free, and the first line limits those that join. The second line is only for domains that are above their
    limit already: solvers repair constraints before any goal.

    Both lines are about the container for free servers alone. So reservations share nothing but servers, and a solver
    can still relax a large region by columns. Domains that have room for all of their servers have no row.
    """
    power = snapshot.power
    if power is None or not power.limits:
        return
    gain, room = np.where(snapshot.servers.lasting, gains_w(snapshot), 0.0), room_w(snapshot)
    most = by_limit(snapshot, gain)
    for one in tight_kinds(snapshot):
        where = _add_places(problem, f"power of {one.kind}", one, rows)
        _add_dimension(problem, GAIN_W, gain[rows])
        limit = GroupCountSpec(
            name=where,
            partition=where,
            scope=_add_free(problem),
            dimension=GAIN_W,
            limit=Limit(groups=(most - np.maximum(room, 0.0))[one.rows]),
            bound=CountBound.MIN,
        )
        problem.add_constraint(limit)
    if power.part is None:
        _add_repairs(snapshot, problem, rows)


def add_power_balance(snapshot: FleetSnapshot, problem: Problem, rows: Indices) -> None:
    """Add the balance of power over MSBs as goals, one for each level of its price.

        price / K * sum_m max(0, kW[m] - level[k,m])  =  price / K * sum_m max(0, most[m] - level[k,m] - free kW[m])

    most are the kW with all objects in full, and without the servers that will be retired: plans may give them up. So
    no plan costs less. Levels that no MSB can reach, or that all exceed, still count a constant.
    """
    power, price = snapshot.power, snapshot.policy.power_balance_cost
    if power is None or price <= 0:
        return
    free_kw = power.gain_w[snapshot.servers.hardware_type[rows]] / W_PER_KW
    if not free_kw.any():
        return
    every = np.where(snapshot.servers.leaving, FREE, np.maximum(snapshot.servers.target, FREE))
    every[rows] = 0
    most = msb_w(snapshot, every)
    _add_dimension(problem, POWER_KW, free_kw)
    for k, level in enumerate(levels_w(snapshot)):
        balance = GroupCountSpec(
            name=f"balance of power, step {k}",
            partition=MSB,
            scope=_add_free(problem),
            dimension=POWER_KW,
            limit=Limit(groups=(most - level) / W_PER_KW),
            bound=CountBound.MIN,
        )
        problem.add_goal(balance, weight=price / len(STEPS), priority=OBJECTIVE, normalise=False)


def add_kept_power(snapshot: FleetSnapshot, problem: Problem, rows: Indices, planned: Indices) -> None:
    """Add constraints so that no domain above its limit draws more than by the plan `planned` (S,), which may have
    brought it down. A part of a region states no repairs, and its servers count in full until they have left.
    """
    power = snapshot.power
    if power is None or not power.limits:
        return
    free_w = power.gain_w[snapshot.servers.hardware_type]
    least_w = by_limit(snapshot, np.where(planned < 0, free_w, 0.0))
    _add_least_free(snapshot, problem, rows, least_w, where="in the plan")


def _add_repairs(snapshot: FleetSnapshot, problem: Problem, rows: Indices) -> None:
    power = snapshot.power
    assert power is not None
    servers = snapshot.servers
    fixed = np.ones(len(servers), bool)
    fixed[rows] = False
    # all servers in full, except that those which plans cannot free stay as they are
    most = by_limit(snapshot, drawn_w(snapshot, ~fixed | (servers.target >= 0)))
    _add_least_free(snapshot, problem, rows, most - allowed_w(power), where="now")


def _add_least_free(snapshot: FleetSnapshot, problem: Problem, rows: Indices, least_w: Floats, *, where: str) -> None:
    """Add for each domain above its limit that free servers save at least `least_w` (limits,). They save kW, because
    `excess` weighs kW against other broken limits.
    """
    power = snapshot.power
    assert power is not None
    for one in tight_kinds(snapshot, above=True):
        _add_dimension(problem, POWER_KW, power.gain_w[snapshot.servers.hardware_type[rows]] / W_PER_KW)
        name = _add_places(problem, f"{one.kind} above its power limit {where}", one, rows)
        least = GroupCountSpec(
            name=name,
            partition=name,
            scope=_add_free(problem),
            dimension=POWER_KW,
            limit=Limit(groups=least_w[one.rows] / W_PER_KW),
            bound=CountBound.MIN,
        )
        problem.add_constraint(least)


def _add_places(problem: Problem, name: str, kind: FedKind, rows: Indices) -> str:
    """Add a partition with the domains of `kind`; all other servers are in none of its groups."""
    problem.add_partition(name, kind.of[rows], [str(domain) for domain in kind.names])
    return name


def _add_dimension(problem: Problem, name: str, watts: np.ndarray) -> None:
    if name not in problem.dimensions:
        problem.add_dimension(name, watts)


def _add_free(problem: Problem) -> str:
    """Add the scope of the free servers alone, once."""
    if UNBOUND not in problem.scopes:
        containers = len(problem.containers)
        problem.add_scope(UNBOUND, np.append(np.full(containers - 1, -1), 0), [UNBOUND])
    return UNBOUND
