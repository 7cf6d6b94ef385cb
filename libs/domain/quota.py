"""A quota: the most cost units that an owner may come to hold in a region (docs/designs/0026)."""

from __future__ import annotations

from dataclasses import dataclass

from libs.domain.arrays import Floats, Indices


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A limit, and the cost units that count toward it.

    A reservation counts the most that it may come to hold, or what it holds, or has booked for its start, if that is
    more.

    limit_cost_units    None: no limit
    used_cost_units     of the owner's reservations, scheduled ones included, and deleted ones that still hold servers
    pending_cost_units  cost units that undecided requests would add
    own_cost_units      of the reservations in question, which used_cost_units leaves out
    generation          0: no limit was ever set
    """

    region: str
    owner: str
    limit_cost_units: float | None
    used_cost_units: float
    pending_cost_units: float
    own_cost_units: float = 0.0
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuotaBounds:
    """The limits that the changes of a plan must respect: of O owners with a limit, Q touched reservations, N changes.

    owner      (Q,) int   index of the reservation's owner; NONE: it has no limit
    most       (Q,)       most cost units that the reservation may come to hold
    targeted   (Q,)       cost units of the servers that target it now
    units      (N,)       cost units of the server of each change; 0 for a server that is down or retiring
    limit      (O,)       the owner's limit
    elsewhere  (O,)       cost units of the owner's reservations that the plan does not touch
    """

    owner: Indices
    most: Floats
    targeted: Floats
    units: Floats
    limit: Floats
    elsewhere: Floats
