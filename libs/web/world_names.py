"""Refuse a name of the world of Flux that does not exist, as far as the platform knows the names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from libs.domain.freeze import FreezeScope
from libs.interchange.planning_inputs.formats import stored_rows
from libs.store.fleet.known_names import known_regions
from libs.store.ledger.events import EventFilter, load_events
from libs.store.planner.planning_inputs import load_current
from libs.store.platform.database import Transaction
from libs.web.names import unknown_name
from libs.web.problems import invalid

_TABLES: Mapping[FreezeScope, tuple[str, str, Callable[[str], EventFilter]]] = {
    FreezeScope.REGION: ("supply", "region", lambda name: EventFilter(region=name)),
    FreezeScope.SERVICE: ("services", "service", lambda name: EventFilter(service=name)),
    FreezeScope.PRODUCT: ("gateways", "product", lambda name: EventFilter(product=name)),
}
"""Scope -> the planning input that names all of the world, its column, and the events of the ledger with a name."""


def require_known_scope(tx: Transaction, scope: FreezeScope, name: str) -> None:
    """Raise Problem (422) with the nearest names if there is no region, service or product of this name.

    It exists if the planning inputs, the platform's regions or an event of the ledger name it. While none of the kind
    is known, every name may come first.
    """
    table, column, events_of = _TABLES[scope]
    current = load_current(tx, table)
    known = set() if current is None else {str(row[column]) for row in stored_rows(current[1])}
    if scope is FreezeScope.REGION:
        known |= known_regions(tx)
    if not known or name in known or load_events(tx, events_of(name), limit=1).items:
        return
    raise invalid(unknown_name("name", column, name, known))
