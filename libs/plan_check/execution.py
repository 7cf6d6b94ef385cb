"""Check that every pool has room for an execution plan, in every order of its actions that the plan allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from graphlib import CycleError, TopologicalSorter

from libs.domain.execution_plan import Action, ExecutionPlan
from libs.domain.violation import Violation

Pool = tuple[str | None, str | None]
TOLERANCE = 1e-4


def check_execution(plan: ExecutionPlan, used: Mapping[Pool, float], room: Mapping[Pool, float]) -> list[Violation]:
    """Return the violations of an execution plan; empty if it may be carried out.

    used   capacity in use in each pool (region, hardware type) before the plan starts
    room   capacity that the pool holds

    A state is a set of finished actions. It contains, with each action, all actions that this one waits for. In no
    state may a pool use more than its room. The worst state of a pool is a maximum closure, which a minimum cut finds.
    """
    known = {a.action for a in plan.actions}
    loose = [
        Violation(reason="UnknownAction", message=f"{a.action} waits for {before}, which is not an action of the plan")
        for a in plan.actions
        for before in a.waits_for
        if before not in known
    ]
    if loose:
        return loose
    freed = _freed_before(plan)
    if freed is None:
        return [Violation(reason="Circle", message="actions wait for each other in a circle, so none can start")]
    pools: dict[Pool, list[Action]] = {}
    for a in plan.actions:
        if a.service is not None:
            pools.setdefault((a.region, a.hardware_type), []).append(a)
    found = []
    for pool, actions in sorted(pools.items(), key=str):
        worst = used.get(pool, 0.0) + _worst(actions, freed)
        if worst > room.get(pool, 0.0) + TOLERANCE * max(1.0, room.get(pool, 0.0)):
            message = f"{pool[0]} would need {worst:.6g} of {pool[1]} at once and holds {room.get(pool, 0.0):.6g}"
            found.append(Violation(reason="NoRoom", message=message))
    return found


def change(a: Action) -> float:
    """Return the capacity that action `a` adds to its pool (a region and hardware type): negative for a downsize, 0 for
    a shift.
    """
    return a.after - a.before if a.service is not None else 0.0


def _freed_before(plan: ExecutionPlan) -> dict[str, frozenset[str]] | None:
    """Return, per action, the downsizes that must finish before it; None if actions wait for each other in a circle."""
    ordered = _in_order(plan.actions)
    if ordered is None:
        return None
    shrinks = {a.action for a in plan.actions if change(a) < 0}
    freed: dict[str, frozenset[str]] = {}
    for a in ordered:
        above = {freed[before] for before in a.waits_for}
        above.discard(frozenset())
        own = shrinks.intersection(a.waits_for)
        freed[a.action] = above.pop() if len(above) == 1 and not own else frozenset(own).union(*above)
    return freed


def _in_order(actions: Sequence[Action]) -> Sequence[Action] | None:
    """Return the actions so that each comes after all that it waits for; None if they wait in a circle."""
    seen: set[str] = set()
    for a in actions:
        if not seen.issuperset(a.waits_for):
            break
        seen.add(a.action)
    else:
        return actions  # the order in which plans are stored
    by_id = {a.action: a for a in actions}
    try:
        return [by_id[name] for name in TopologicalSorter({a.action: a.waits_for for a in actions}).static_order()]
    except CycleError:
        return None


def _worst(actions: list[Action], freed: Mapping[str, Set[str]]) -> float:
    """Return the most that a closed set of finished actions adds to their pool."""
    gives = {a.action: -change(a) for a in actions if change(a) < 0}
    takes: dict[frozenset[str], float] = {}
    for a in actions:
        if change(a) > 0:
            before = frozenset(freed[a.action] & gives.keys())
            takes[before] = takes.get(before, 0.0) + change(a)
    at_once = takes.pop(frozenset(), 0.0)
    if not takes:
        return at_once
    import networkx as nx  # late: workers that only carry plans out do not need it

    network: nx.DiGraph[str | int] = nx.DiGraph()
    for number, (before, amount) in enumerate(takes.items()):
        network.add_edge("source", number, capacity=amount)
        network.add_edges_from((number, name) for name in before)  # no capacity: infinite
    network.add_edges_from((name, "sink", {"capacity": amount}) for name, amount in gives.items())
    return at_once + sum(takes.values()) - float(nx.minimum_cut_value(network, "source", "sink"))
