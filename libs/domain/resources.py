"""Resources that reservations may ask for beside RRU, such as cores and memory. See docs/designs/0058."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from libs.domain.arrays import Bools, Floats, Names

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]*")
RESOURCES_MAX = 8
"""Most resources of one reservation."""
AMOUNT_MIN, AMOUNT_MAX = 1e-6, 1e15
"""The smallest and the largest amount of one resource."""
_WORTH = (1e-12, 1e12)
"""The least and the most RRU that one unit counts for. It only weighs penalties: RRU that owners choose may be tiny."""
_SHARE_MIN = 1e-30
NAME_CHARACTERS_MAX = 63
"""Most characters in the name of a resource."""


GUEST_PREFIX = "guest:"
"""Beginning of the name of a resource that stands for a guest. It is for arrays and tables, and not for people."""


RESOURCE_RULE = (
    f"a resource has a name of 1 to {NAME_CHARACTERS_MAX} letters, digits and . _ : / - that does not begin with "
    f"{GUEST_PREFIX}"
)


def is_attribute(name: str) -> bool:
    """Return whether an attribute of hardware types may have this name: not that of a resource that stands for a guest.
    Else its figure would count as a share of the guest.
    """
    return not name.startswith(GUEST_PREFIX)


def is_resource(name: str) -> bool:
    """Return whether a resource of hardware types may have this name: as their attributes have, so that operators can
    set it.
    """
    return len(name) <= NAME_CHARACTERS_MAX and _NAME.fullmatch(name) is not None and is_attribute(name)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resources:
    """The Q resources of a region.

    names   (Q,) str   each is an attribute of hardware types
    amount  (Q, T)     units of each resource in one server of each of T hardware types; 0: none
    waived             resources whose lack costs nothing, for explanations; their servers are no surplus all the same
    """

    names: Names = field(default_factory=lambda: np.zeros(0, object))
    amount: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    waived: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.names)


NO_RESOURCES = Resources()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measure:
    """One measure of the capacity of R reservations, in RRU of each reservation.

    resource  name of the resource; None: the RRU themselves
    asks      (R,) bool    whether the reservation asks for the resource
    capacity  (R,) RRU     what it asks for; 0 where it does not ask
    rru       (R, T) RRU   value of one server of each hardware type; 0 where it does not ask
    worth     (R,) RRU     of one unit of the resource
    share     (R,)         factor that turns the measure into a share of the reservation's RRU: C[r] / capacity[r]
    """

    resource: str | None
    asks: Bools
    capacity: Floats
    rru: Floats
    worth: Floats
    share: Floats

    @property
    def weight(self) -> Floats:
        """Return the factor (R,) of the measure in penalties, if it is counted as a share of the capacity in RRU."""
        return np.divide(1.0, self.share, out=np.zeros(len(self.share)), where=self.asks & (self.share > 0))

    def share_rru(self, rru: Floats) -> Floats:
        """Return the worth (R, T) of one server as a share of the capacity in RRU; `rru` (R, T) where the reservation
        does not ask for the resource.
        """
        return np.where(self.asks[:, None], self.rru * self.share[:, None], rru)

    def shared(self, left: Floats) -> Floats:
        """Return what `left` (..., R) of the measure stands for in RRU; inf where the reservation does not ask."""
        return np.asarray(np.where(self.asks, left * self.share, np.inf))


def measures_of(capacity_rru: Floats, rru: Floats, asked: Floats, resources: Resources) -> tuple[Measure, ...]:
    """Return the measures of R reservations: the RRU first, then each resource that one of them asks for.

        worth[r] = min_t V[r,t] / amount[t]    over the types with both, within the bounds of sound floats

    capacity_rru  (R,)
    rru           (R, T)  V
    asked         (R, Q)  units of each resource; 0: not asked for
    """
    ones = np.ones(len(capacity_rru))
    found = [Measure(resource=None, asks=ones > 0, capacity=capacity_rru, rru=rru, worth=ones, share=ones)]
    for k in np.flatnonzero((asked > 0).any(0)).tolist():
        asks, gives = asked[:, k] > 0, (rru > 0) & (resources.amount[k] > 0)
        each = np.divide(rru, resources.amount[k], out=np.full(rru.shape, np.inf), where=gives).min(1, initial=np.inf)
        per_unit = np.divide(capacity_rru, asked[:, k], out=np.ones(len(asks)), where=asks & (capacity_rru > 0))
        worth = np.clip(np.where(np.isfinite(each), each, per_unit), *_WORTH)
        capacity = np.where(asks, asked[:, k] * worth, 0.0)
        share = np.divide(capacity_rru, capacity, out=np.ones(len(asks)), where=asks)
        found.append(
            Measure(
                resource=str(resources.names[k]),
                asks=asks,
                capacity=capacity,
                rru=np.where(gives & asks[:, None], resources.amount[k] * worth[:, None], 0.0),
                worth=worth,
                share=np.where(capacity_rru > 0, np.maximum(share, _SHARE_MIN), share),
            )
        )
    return tuple(found)


def listed_resources(
    types: Names, attributes: Mapping[str, Mapping[str, object]], asked: Iterable[Collection[str]] = ()
) -> Resources:
    """Return the resources of a region: all figures above 0 among the attributes of its hardware types, and those that
    its reservations ask for.

    types   (T,) str
    asked   the resources of each reservation
    """
    figures = {
        str(t): {name: value for name, value in attributes.get(str(t), {}).items() if is_amount(value)} for t in types
    }
    names = sorted({name for of in (*figures.values(), *asked) for name in of})
    amount = [[figures[str(t)].get(name, 0.0) for t in types] for name in names]
    return Resources(names=np.array(names, object), amount=np.array(amount, np.float64).reshape(len(names), len(types)))


def resources_table(asked: Sequence[Mapping[str, float]], resources: Resources) -> Floats:
    """Return what R reservations ask for of each resource, (R, Q)."""
    table = [[of.get(str(name), 0.0) for name in resources.names] for of in asked]
    return np.array(table, np.float64).reshape(len(asked), len(resources))


def resources_in(row: Floats, resources: Resources) -> dict[str, float]:
    """Return what a reservation asks for by its row (Q,), the inverse of `resources_table`."""
    return {str(resources.names[k]): float(row[k]) for k in np.flatnonzero(row > 0)}


def amounts_in(attributes: Mapping[str, object]) -> dict[str, float]:
    """Return the amounts among the attributes of a hardware type: resource -> units in one server."""
    return {
        name: value
        for name, value in attributes.items()
        if isinstance(value, int | float) and is_amount(value) and is_attribute(name)
    }


def is_amount(value: object) -> bool:
    """Return whether a value is an amount of a resource: a number from AMOUNT_MIN to AMOUNT_MAX."""
    return isinstance(value, int | float) and not isinstance(value, bool) and AMOUNT_MIN <= value <= AMOUNT_MAX
