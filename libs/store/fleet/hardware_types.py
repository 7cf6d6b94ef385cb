"""Hardware types, which all regions share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import sqlalchemy as sa

from libs.domain.arrays import Ints, Names
from libs.domain.hardware_type import HardwareType
from libs.domain.page import Page
from libs.reconcile.errors import StaleGeneration
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound
from libs.store.tables import hardware_types


def ensure_hardware_types(tx: Transaction, names: Sequence[str] | Names, *, now: datetime) -> Ints:
    """Return the (T,) ids of the hardware types `names`. Add a type for each unknown name."""
    listed = [str(name) for name in names]
    # In order of name, so that two imports that add the same types do not deadlock.
    tx.execute(
        sa.text(
            "INSERT INTO hardware_types (name, attributes, created_at) "
            "SELECT name, '{}', :now FROM unnest(CAST(:names AS text[])) AS name ORDER BY name ON CONFLICT DO NOTHING"
        ),
        {"names": listed, "now": now},
    )
    query = sa.select(hardware_types.c.name, hardware_types.c.hardware_type_id)
    ids = dict(tx.execute(query.where(hardware_types.c.name.in_(listed))).tuples().all())
    return np.array([ids[name] for name in listed], np.int64)


def fill_attributes(tx: Transaction, said: Mapping[str, Mapping[str, float]]) -> None:
    """Store attributes from `said`, but only for hardware types without attributes."""
    statement = """
        UPDATE hardware_types SET attributes = said.value FROM jsonb_each(CAST(:said AS jsonb)) AS said
        WHERE hardware_types.name = said.key AND hardware_types.attributes = '{}'"""
    tx.execute(sa.text(statement), {"said": json.dumps(dict(said))})


def load_sizes(tx: Transaction, names: Names) -> dict[str, dict[str, float]]:
    """Return hardware type -> its numeric attributes. Leave out types without numeric attributes."""
    query = sa.select(hardware_types.c.name, hardware_types.c.attributes)
    rows = tx.execute(query.where(hardware_types.c.name.in_([str(name) for name in names]))).tuples()
    numbers = {
        name: {key: float(value) for key, value in attributes.items() if type(value) in (int, float)}
        for name, attributes in rows
    }
    return {name: figures for name, figures in numbers.items() if figures}


def load_hardware_type(tx: Transaction, name: str) -> HardwareType:
    """Return one hardware type by name. Raises NotFound."""
    row = tx.execute(sa.select(hardware_types).where(hardware_types.c.name == name)).mappings().one_or_none()
    if row is None:
        raise NotFound("hardware type", name)
    return _hardware_type(row)


def list_hardware_types(tx: Transaction, *, after: int | None = None, limit: int = 100) -> Page[HardwareType]:
    """Return a page of hardware types in order of id. `after` is the last id of the page before."""
    table = hardware_types
    query = (
        sa.select(table)
        .where(table.c.hardware_type_id > (after or 0))
        .order_by(table.c.hardware_type_id)
        .limit(limit + 1)
    )
    found = [_hardware_type(row) for row in tx.execute(query).mappings()]
    return Page.of(found, limit, lambda hardware_type: hardware_type.hardware_type_id)


def put_attributes(
    tx: Transaction, name: str, attributes: Mapping[str, object], *, generation: int, actor: str, now: datetime
) -> HardwareType:
    """Replace the attributes of a hardware type. Raises NotFound, and StaleGeneration unless the type is at
    `generation`.
    """
    table = hardware_types
    row = tx.execute(sa.select(table).where(table.c.name == name).with_for_update()).mappings().one_or_none()
    if row is None:
        raise NotFound("hardware type", name)
    before = _hardware_type(row)
    if before.generation != generation:
        raise StaleGeneration("hardware type", name, expected=generation, found=before.generation)
    if dict(before.attributes) == dict(attributes):
        return before
    update = sa.update(table).where(table.c.name == name).values(attributes=dict(attributes)).returning(table)
    after = _hardware_type(tx.execute(update).mappings().one())
    audit.append(
        tx,
        actor=actor,
        action="put_attributes",
        subject_kind="hardware_type",
        subject_id=after.hardware_type_id,
        now=now,
        before=before.attributes,
        after=attributes,
    )
    return after


def _hardware_type(row: Mapping[Any, Any]) -> HardwareType:
    return HardwareType(
        hardware_type_id=row["hardware_type_id"],
        name=row["name"],
        attributes=row["attributes"],
        generation=row["generation"],
    )
