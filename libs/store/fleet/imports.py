"""Imports into existing regions. A proposed import stores the differences between a list of servers and the region.
Confirming applies all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np
import sqlalchemy as sa
from psycopg.types.json import Jsonb

from libs.domain.arrays import Indices
from libs.domain.fleet import Topology
from libs.domain.inventory import Inventory
from libs.domain.inventory_diff import ImportAction, ImportItems, ImportMode, KnownServers, domain_names
from libs.domain.page import Page
from libs.domain.region_import import Import, ImportItem, ImportStatus
from libs.store.fleet.regions import load_region
from libs.store.platform import audit
from libs.store.platform.bulk import Column, copy_in
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound
from libs.store.tables import import_items, imports, regions


class StaleImport(Exception):
    """The import was decided already, or the region has changed since the import was proposed. `what` says which."""

    def __init__(self, import_id: int, what: str) -> None:
        self.import_id, self.what = import_id, what
        super().__init__(f"import {import_id} cannot be applied: {what}")


def propose_import(
    tx: Transaction,
    region_name: str,
    known: KnownServers,
    inventory: Inventory,
    items: ImportItems,
    *,
    mode: ImportMode,
    proposed_by: str,
    now: datetime,
) -> Import:
    """Store the differences between the region's servers `known` and the list `inventory`, as a proposed import. The
    region itself does not change. Raises NotFound.
    """
    region_id = load_region(tx, region_name).region_id
    values = {"region_id": region_id, "mode": mode.value, "status": "proposed", "proposed_by": proposed_by}
    insert = imports.insert().values(**values, counts=items.counts(), attributes=inventory.attributes(), created_at=now)
    import_id = tx.execute(insert.returning(imports.c.import_id)).scalar_one()
    copy_in(tx, import_items, _columns(import_id, known, inventory, items))
    return load_import(tx, region_name, import_id)


def discard_import(tx: Transaction, region_name: str, import_id: int, *, actor: str, now: datetime) -> Import:
    """Discard an import and delete its items. A discarded import stays as it is.

    Raises NotFound, and StaleImport if it was confirmed.
    """
    found = lock_import(tx, region_name, import_id)
    if found.status is ImportStatus.CONFIRMED:
        raise StaleImport(import_id, "it was confirmed")
    if found.status is ImportStatus.PROPOSED:
        tx.execute(sa.delete(import_items).where(import_items.c.import_id == import_id))
        decide_import(tx, import_id, ImportStatus.DISCARDED, actor=actor, now=now)
    return load_import(tx, region_name, import_id)


def decide_import(tx: Transaction, import_id: int, status: ImportStatus, *, actor: str, now: datetime) -> None:
    """Write the decision on a proposed import. The caller must have locked it."""
    one = imports.c.import_id == import_id
    tx.execute(sa.update(imports).where(one).values(status=status.value, decided_by=actor, decided_at=now))
    action = {"confirmed": "confirm", "discarded": "discard"}[status.value]
    audit.append(tx, actor=actor, action=action, subject_kind="import", subject_id=import_id, now=now)


def lock_import(tx: Transaction, region_name: str, import_id: int) -> Import:
    """Lock one import until the transaction ends, and return it. Raises NotFound."""
    tx.execute(sa.select(imports.c.import_id).where(imports.c.import_id == import_id).with_for_update(key_share=True))
    return load_import(tx, region_name, import_id)


def load_import(tx: Transaction, region_name: str, import_id: int) -> Import:
    """Return one import of a region. Raises NotFound."""
    query = _SELECT.where(imports.c.import_id == import_id, regions.c.name == region_name)
    row = tx.execute(query).mappings().one_or_none()
    if row is None:
        raise NotFound("import", f"{region_name}/{import_id}")
    return _import(row)


def list_imports(tx: Transaction, region_name: str, *, before: int | None = None, limit: int = 100) -> Page[Import]:
    """Return a page of the imports of a region, latest first. Raises NotFound."""
    query = _SELECT.where(imports.c.region_id == load_region(tx, region_name).region_id)
    if before is not None:
        query = query.where(imports.c.import_id < before)
    rows = tx.execute(query.order_by(imports.c.import_id.desc()).limit(limit + 1)).mappings()
    return Page.of([_import(row) for row in rows], limit, lambda found: found.import_id)


def list_import_items(
    tx: Transaction,
    region_name: str,
    import_id: int,
    *,
    action: ImportAction | None = None,
    after: int | None = None,
    limit: int = 100,
) -> Page[ImportItem]:
    """Return a page of the items of an import, in order. A discarded import has none. Raises NotFound."""
    load_import(tx, region_name, import_id)
    table = import_items
    query = sa.select(*(table.c[name] for name in ImportItem.__dataclass_fields__)).where(
        table.c.import_id == import_id, table.c.item_index > (after or 0)
    )
    if action is not None:
        query = query.where(table.c.action == action.value)
    rows = tx.execute(query.order_by(table.c.item_index).limit(limit + 1)).mappings()
    items = [ImportItem(**{**row, "action": ImportAction(row["action"])}) for row in rows]
    return Page.of(items, limit, lambda item: item.item_index)


_SELECT = sa.select(imports, regions.c.name.label("region")).join(regions, regions.c.region_id == imports.c.region_id)


def _import(row: Mapping[Any, Any]) -> Import:
    fields = {name: row[name] for name in Import.__dataclass_fields__}
    return Import(**fields | {"mode": ImportMode(row["mode"]), "status": ImportStatus(row["status"])})


def _columns(import_id: int, known: KnownServers, inventory: Inventory, items: ImportItems) -> dict[str, Column]:
    """Return the items of an import as columns of the table of import items. Items are numbered from 1."""
    at, of = items.known, items.listed

    def was(values: np.ndarray) -> list[object]:
        return _picked(values, at)

    def says(values: np.ndarray) -> list[object]:
        return _picked(values, of)

    ours, theirs, msb = known.topology, inventory.topology, inventory.msb
    reported = was(known.reported)
    # If another reporter's event gives the listed health already, the import opens no event of its own.
    said = [
        mine if now is not None and now == so else now
        for now, so, mine in zip(says(inventory.unavailability), was(known.unavailability), reported, strict=True)
    ]
    return {
        "import_id": [import_id] * len(items),
        "item_index": np.arange(1, len(items) + 1),
        "action": items.action,
        "server": [new or there for new, there in zip(says(inventory.server), was(known.name), strict=True)],
        "server_id": was(known.id),
        "server_generation": was(known.generation),
        "reservation": was(known.reservation),
        "datacenter": says(theirs.datacenters[theirs.msb_datacenter[msb]]),
        "msb": says(theirs.msbs[msb]),
        "rack": says(theirs.racks[inventory.rack]),
        "hardware_type": says(inventory.hardware_types[inventory.hardware_type]),
        "unavailability": said,
        "domains": _domains(theirs, inventory.domain, of, theirs),
        "was_msb": was(ours.msbs[ours.rack_msb[known.rack]]),
        "was_rack": was(ours.racks[known.rack]),
        "was_hardware_type": was(known.hardware_type),
        "was_unavailability": reported,
        "was_domains": _domains(ours, known.domain, at, theirs),
    }


def _domains(topology: Topology, domain: Indices, rows: Indices, listed: Topology) -> list[object]:
    """Return kind -> name of the domain at each of `rows`, for the kinds of the list; None for a row of -1."""
    if not listed.kinds:
        return [None] * len(rows)
    names = [_picked(domain_names(topology, domain, kind.name), rows) for kind in listed.kinds]
    kinds = [kind.name for kind in listed.kinds]
    return [
        None if row < 0 else Jsonb(dict(zip(kinds, values, strict=True)))
        for row, *values in zip(rows.tolist(), *names, strict=True)
    ]


def _picked(values: np.ndarray, rows: Indices) -> list[object]:
    """Return `values` at each of `rows`; None for a row of -1."""
    padded = np.full(len(values) + 1, None, object)
    padded[:-1] = values
    return padded[rows].tolist()  # type: ignore[no-any-return]
