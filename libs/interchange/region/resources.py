"""Read and write what servers give of resources, and what reservations ask for: columns of both tables."""

from __future__ import annotations

import json
from collections.abc import Collection

import numpy as np
import pyarrow as pa

from libs.domain.arrays import Floats, Names
from libs.domain.resources import (
    AMOUNT_MAX,
    AMOUNT_MIN,
    NAME_CHARACTERS_MAX,
    RESOURCE_RULE,
    RESOURCES_MAX,
    Resources,
    is_amount,
    is_resource,
    resources_in,
)
from libs.interchange.files.bounds import COLUMNS_MAX
from libs.interchange.files.tables import Table
from libs.interchange.region.json_columns import read_json_column, unknown

PREFIX = "resource:"
"""Beginning of the optional columns of servers.parquet with the amount of a resource in each server."""
COLUMN = "resources"
_CHARACTERS_MAX = RESOURCES_MAX * (6 * NAME_CHARACTERS_MAX + 40)


def read_amounts(table: Table) -> dict[str, Floats]:
    """Return resource -> the amount (S,) in each server of servers.parquet; nan: not stated."""
    fields = table.fields_with(PREFIX)
    if len(fields) > COLUMNS_MAX:
        table.refuse(f"has {len(fields)} resources; at most {COLUMNS_MAX} are allowed", fields[COLUMNS_MAX])
    found = {}
    for field in fields:
        name = field.removeprefix(PREFIX)
        if not is_resource(name):
            table.refuse(RESOURCE_RULE, field)
        found[name] = table.numbers(field, nullable=True)
        table.bad_rows(found[name] > AMOUNT_MAX, field, f"is more than {AMOUNT_MAX:g}")
    return found


def read_asked(table: Table, known: Collection[str]) -> list[dict[str, float]]:
    """Return what each reservation asks for: resource -> amount. Without the column there is none.

    A value is a JSON object: a resource -> its amount. Null: none.

    known   the resources that servers.parquet has a column for
    """
    form = (
        f'is not a JSON object such as {{"cores": 1000}}: at most {RESOURCES_MAX} resources that servers.parquet '
        f"has a column for, {PREFIX}NAME, with amounts from {AMOUNT_MIN:g} to {AMOUNT_MAX:g}"
    )
    none: dict[str, float] = {}
    found, value = read_json_column(
        table, COLUMN, lambda given: _asked(given, known), none, form=form, longest=_CHARACTERS_MAX
    )
    if not any(found):
        return [none] * len(table)
    capacity = table.numbers("capacity_rru")
    asks = np.array([bool(one) for one in found], bool)[value]
    table.bad_rows(asks & (capacity <= 0), COLUMN, "needs a capacity_rru above 0")
    return [found[v] for v in value.tolist()]


def amount_columns(
    asked: Floats, resources: Resources, written: Collection[str], of_server: pa.Array
) -> dict[str, pa.Array]:
    """Return the columns of servers.parquet for the resources that reservations ask for.

    asked      (R, Q)
    written    columns that say the same without a prefix
    of_server  (S,) hardware type of each server
    """
    found = {}
    for k in np.flatnonzero((asked > 0).any(0)).tolist():
        name, amount = str(resources.names[k]), resources.amount[k]
        if name not in written:
            found[PREFIX + name] = pa.array(amount, pa.float64(), mask=amount <= 0).take(of_server)
    return found


def asked_column(asked: Floats, resources: Resources) -> pa.Array | None:
    """Return the column of reservations.parquet, for (R, Q); None if no reservation asks for a resource."""
    if not (asked > 0).any():
        return None
    listed = [resources_in(row, resources) for row in asked]
    return pa.array([json.dumps(one) if one else None for one in listed], pa.string())


def amounts_by_type(asked: Floats, resources: Resources, types: Names) -> dict[str, dict[str, float]]:
    """Return hardware type -> the resources that it gives, of those that reservations ask for."""
    chosen = np.flatnonzero((asked > 0).any(0)).tolist()
    by_type: dict[str, dict[str, float]] = {}
    for t, hardware_type in enumerate(types):
        given = {str(resources.names[k]): float(resources.amount[k, t]) for k in chosen if resources.amount[k, t] > 0}
        if given:
            by_type[str(hardware_type)] = given
    return by_type


def _asked(given: object, known: Collection[str]) -> dict[str, float]:
    """Return the resources in a value. Raises ValueError if it is not of the form, and WrongValue."""
    if not isinstance(given, dict) or not 0 < len(given) <= RESOURCES_MAX:
        raise ValueError
    for name, amount in given.items():
        if name not in known:
            raise unknown("resource", name, sorted(known))
        if not is_amount(amount):
            raise ValueError
    return {name: float(amount) for name, amount in given.items()}
