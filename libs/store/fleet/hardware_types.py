"""Hardware types, which all regions share."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import sqlalchemy as sa

from libs.domain.arrays import Ints, Names
from libs.domain.hardware_type import HardwareType
from libs.domain.page import Page
from libs.domain.resources import GUEST_PREFIX, is_attribute
from libs.reconcile.errors import StaleGeneration
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound, NotPossible
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
    """Store the attributes from `said` that hardware types lack. Regions share types, so known attributes stay.

    Raises NotPossible for a name that no attribute may have.
    """
    for attributes in said.values():
        _require_attributes(attributes)
    statement = """
        UPDATE hardware_types SET attributes = said.value || attributes
        FROM jsonb_each(CAST(:said AS jsonb)) AS said
        WHERE hardware_types.name = said.key AND NOT attributes @> (said.value || attributes)"""
    tx.execute(sa.text(statement), {"said": json.dumps(dict(said))})


def load_sizes(tx: Transaction, names: Names) -> dict[str, dict[str, float]]:
    """Return hardware type -> its numeric attributes. Leave out types without numeric attributes.

    Leave out attributes with the names of guests' resources: earlier versions stored them.
    """
    query = sa.select(hardware_types.c.name, hardware_types.c.attributes)
    rows = tx.execute(query.where(hardware_types.c.name.in_([str(name) for name in names]))).tuples()
    numbers = {
        name: {key: float(v) for key, v in attributes.items() if type(v) in (int, float) and is_attribute(key)}
        for name, attributes in rows
    }
    return {name: figures for name, figures in numbers.items() if figures}


def load_cost_units(tx: Transaction, names: Collection[str]) -> dict[str, float]:
    """Return hardware type -> the cost units that an operator set. Leave out types for which none did."""
    table = hardware_types
    query = sa.select(table.c.name, table.c.cost_units).where(table.c.name.in_(names), table.c.cost_units.is_not(None))
    return dict(tx.execute(query).tuples().all())


def fill_cost_units(tx: Transaction, said: Mapping[str, float], *, actor: str, now: datetime) -> None:
    """Set the cost units from `said`, but only of hardware types for which no operator set any: regions share types."""
    table = hardware_types
    update = (
        sa.update(table)
        .where(table.c.name == sa.bindparam("type_name"), table.c.cost_units.is_(None))
        .values(cost_units=sa.bindparam("units"))
        .returning(table)
    )
    for name, units in sorted(said.items()):
        row = tx.execute(update, {"type_name": name, "units": units}).mappings().one_or_none()
        if row is not None:
            after = _hardware_type(row)
            told = {"cost_units": None}, {"cost_units": units}
            _tell(tx, "put_cost_units", after, *told, actor=actor, now=now, reason="import of a region")


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
    `generation`. Raises NotPossible for a name that no attribute may have.
    """
    _require_attributes(attributes)
    before = _lock(tx, name, generation)
    if dict(before.attributes) == dict(attributes):
        return before
    after = _update(tx, name, attributes=dict(attributes))
    _tell(tx, "put_attributes", after, before.attributes, attributes, actor=actor, now=now)
    return after


def put_cost_units(
    tx: Transaction,
    name: str,
    cost_units: float | None,
    *,
    generation: int,
    actor: str,
    reason: str | None,
    now: datetime,
) -> HardwareType:
    """Set what one server of a hardware type counts toward quotas and approval limits. None: the default.

    Raises NotFound, and StaleGeneration unless the type is at `generation`.
    """
    before = _lock(tx, name, generation)
    if before.cost_units == cost_units:
        return before
    after = _update(tx, name, cost_units=cost_units)
    told = ({"cost_units": one.cost_units} for one in (before, after))
    _tell(tx, "put_cost_units", after, *told, actor=actor, now=now, reason=reason)
    return after


def _require_attributes(attributes: Mapping[str, object]) -> None:
    for name in attributes:
        if not is_attribute(name):
            message = f"a name that begins with {GUEST_PREFIX} stands for a guest of a reservation: choose another"
            raise NotPossible(f"attributes.{name}", message)


def _lock(tx: Transaction, name: str, generation: int) -> HardwareType:
    """Lock a hardware type until the transaction ends. Raises NotFound, and StaleGeneration unless at `generation`."""
    table = hardware_types
    row = tx.execute(sa.select(table).where(table.c.name == name).with_for_update()).mappings().one_or_none()
    if row is None:
        raise NotFound("hardware type", name)
    found = _hardware_type(row)
    if found.generation != generation:
        raise StaleGeneration("hardware type", name, expected=generation, found=found.generation)
    return found


def _update(tx: Transaction, name: str, **values: object) -> HardwareType:
    table = hardware_types
    update = sa.update(table).where(table.c.name == name).values(values).returning(table)
    return _hardware_type(tx.execute(update).mappings().one())


def _tell(
    tx: Transaction,
    action: str,
    after: HardwareType,
    was: Mapping[str, object],
    is_now: Mapping[str, object],
    *,
    actor: str,
    now: datetime,
    reason: str | None = None,
) -> None:
    audit.append(
        tx,
        actor=actor,
        action=action,
        subject_kind="hardware_type",
        subject_id=after.hardware_type_id,
        now=now,
        before=was,
        after=is_now,
        reason=reason,
    )


def _hardware_type(row: Mapping[Any, Any]) -> HardwareType:
    return HardwareType(
        hardware_type_id=row["hardware_type_id"],
        name=row["name"],
        attributes=row["attributes"],
        cost_units=row["cost_units"],
        generation=row["generation"],
    )
