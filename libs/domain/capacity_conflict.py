"""Conflicts between proposed and live events of the capacity ledger."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from libs.domain.capacity_event import CapacityDelta, CapacityEvent, Effect, Proposal

Place = tuple[str, str, str]
"""A service, a region and a hardware type."""
_TOLERANCE = 1e-9
"""Share of the capacity. Smaller amounts below zero are rounding errors."""


class ConflictKind(StrEnum):
    """How a proposal conflicts with live events."""

    OPPOSITE = "opposite"
    """A live event of another origin changes the same quantity in the opposite direction."""
    BELOW_ZERO = "below_zero"
    """Together with live events, the proposal takes more capacity than the service has in the region."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A proposal that conflicts.

    proposal   its position in the call
    with_      the live events in question; () if the proposal alone takes too much
    lacking    BELOW_ZERO: capacity below zero, in units of the hardware type; else 0
    """

    kind: ConflictKind
    proposal: int
    with_: tuple[CapacityEvent, ...]
    lacking: float = 0.0


def find_conflicts(
    proposals: Sequence[Proposal], author: str, live: Iterable[CapacityEvent], capacity: Mapping[Place, float]
) -> list[Conflict]:
    """Return the conflicts of the proposals with live events, in the order of the proposals.

    live       live events on the places and shifts of the proposals
    capacity   capacity now by place; a place without an entry is not known and never falls below zero
    """
    by_key: dict[tuple[str, ...], list[CapacityEvent]] = defaultdict(list)
    for event in live:
        by_key[quantity(event.effect)].append(event)
    found = [
        Conflict(kind=ConflictKind.OPPOSITE, proposal=position, with_=against)
        for position, one in enumerate(proposals if by_key else ())
        if (against := tuple(e for e in by_key[quantity(one.effect)] if _contradicts(one, author, e)))
    ]
    found += _below_zero(proposals, by_key, capacity)
    return sorted(found, key=lambda conflict: conflict.proposal)


def quantity(effect: Effect) -> tuple[str, ...]:
    """Return the quantity that an effect changes: a place, or a product and two regions in order of name."""
    if isinstance(effect, CapacityDelta):
        return "capacity", effect.service, effect.region, effect.hardware_type
    return "traffic", effect.product, *sorted((effect.from_region, effect.to_region))


def _contradicts(proposal: Proposal, author: str, event: CapacityEvent) -> bool:
    same_origin = (proposal.writer, author, proposal.placement_plan_id) == (
        event.writer,
        event.author,
        event.placement_plan_id,
    )
    return not same_origin and _rises(proposal.effect) != _rises(event.effect)


def _rises(effect: Effect) -> bool:
    if isinstance(effect, CapacityDelta):
        return effect.delta > 0
    return effect.from_region < effect.to_region


def _below_zero(
    proposals: Sequence[Proposal],
    by_key: Mapping[tuple[str, ...], list[CapacityEvent]],
    capacity: Mapping[Place, float],
) -> list[Conflict]:
    """Add up, by place and in order of time, what is left to happen. Report the first proposal that takes too much."""
    ours: dict[Place, list[int]] = defaultdict(list)
    for position, one in enumerate(proposals if capacity else ()):
        if isinstance(one.effect, CapacityDelta):
            place = one.effect.service, one.effect.region, one.effect.hardware_type
            if place in capacity:
                ours[place].append(position)
    found = []
    for place, positions in ours.items():
        events = by_key.get(("capacity", *place), [])
        # At one moment, additions come first: writers cannot order them against each other.
        steps = [(e.starts_at, -(e.effect.amount - e.achieved), -1) for e in events]
        steps += [(proposals[p].starts_at, -proposals[p].effect.amount, p) for p in positions]
        left, taker = capacity[place], None
        for _, loss, position in sorted(steps):
            left -= loss
            if position >= 0 and loss > 0:
                taker = position
            if taker is not None and left < -_TOLERANCE * max(1.0, capacity[place]):
                takers = tuple(e for e in events if e.effect.amount < 0)
                found.append(Conflict(kind=ConflictKind.BELOW_ZERO, proposal=taker, with_=takers, lacking=-left))
                break
    return found
