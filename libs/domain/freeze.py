"""Freezes: times in which no action of a plan and no event of the ledger begins."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from libs.domain.capacity_event import CapacityDelta, Effect
from libs.domain.execution_plan import Action


class FreezeScope(StrEnum):
    """Actions that a freeze holds."""

    ALL = "all"
    REGION = "region"
    """Resizes in the region, and shifts to it and from it."""
    SERVICE = "service"
    """Resizes of the service."""
    PRODUCT = "product"
    """Shifts of the product."""


Scope = tuple[FreezeScope, str | None]
"""A kind of scope, and the name of the region, service or product; None for ALL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Freeze:
    """One row of the calendar.

    name       of the region, service or product; None for ALL
    ended_at   when a person ended it early
    """

    freeze_id: int
    scope: FreezeScope
    name: str | None
    starts_at: datetime
    ends_at: datetime
    reason: str
    created_by: str
    created_at: datetime
    ended_at: datetime | None
    ended_by: str | None
    generation: int

    def is_on(self, now: datetime) -> bool:
        """Return whether it holds actions at this moment."""
        return self.ended_at is None and self.starts_at <= now < self.ends_at

    def holds(self, action: Action) -> bool:
        """Return whether the action is in its scope."""
        return (self.scope, self.name) in scopes_of(action)

    def holds_effect(self, effect: Effect) -> bool:
        """Return whether the effect of an event of the capacity ledger is in its scope."""
        if isinstance(effect, CapacityDelta):
            return (self.scope, self.name) in _scopes(effect.service, None, effect.region, None)
        return (self.scope, self.name) in _scopes(None, effect.product, effect.from_region, effect.to_region)


def scopes_of(action: Action) -> tuple[Scope, ...]:
    """Return the scopes of the freezes that hold an action."""
    return _scopes(action.service, action.product, action.region, action.to_region)


def _scopes(service: str | None, product: str | None, region: str | None, to_region: str | None) -> tuple[Scope, ...]:
    named = (
        (FreezeScope.REGION, region),
        (FreezeScope.REGION, to_region),
        (FreezeScope.SERVICE, service),
        (FreezeScope.PRODUCT, product),
    )
    return ((FreezeScope.ALL, None), *(one for one in named if one[1] is not None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """The freezes for one execution.

    overrides   (freeze, position) of actions that may begin in spite of a freeze; position None: all actions
    """

    freezes: tuple[Freeze, ...] = ()
    overrides: frozenset[tuple[int, int | None]] = frozenset()


NO_FREEZES = Calendar()
