"""Read and check the columns of reservations.parquet, and the pairs of rru.parquet and affinity.parquet."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Bools, Floats, Ints, Names
from libs.domain.domain_kind import (
    KIND_CHARACTERS_MAX,
    KINDS_MAX,
    DomainKind,
)
from libs.domain.reservation import (
    MOVE_COST_MAX,
    MOVE_COST_MIN,
    PRIORITY_MAX,
    PRIORITY_MIDDLE,
    ReservationKind,
)
from libs.domain.rru_catalogue import RegionCatalogue
from libs.interchange.files.bounds import COLUMNS_MAX, NAME_CHARACTERS_MAX
from libs.interchange.files.tables import Table
from libs.interchange.region.catalogue import CLASSES
from libs.interchange.region.json_columns import read_json_column, unknown
from libs.interchange.region.server_columns import DOMAIN_PREFIX

_KINDS_CHARACTERS_MAX = KINDS_MAX * (KIND_CHARACTERS_MAX + len('"", '))
_DATACENTERS_CHARACTERS_MAX = COLUMNS_MAX * (NAME_CHARACTERS_MAX + len('"", '))
"""Largest length of a JSON array of datacenters."""


def read_classes(table: Table, catalogue: RegionCatalogue | None) -> Names:
    """Return the class of workload that each reservation follows, (R,) str or None."""
    if not table.has("workload_class"):
        return np.full(len(table), None, object)
    column = table.strings("workload_class", nullable=True)
    known = {} if catalogue is None else catalogue.present().classes
    unknown = column.matches(lambda name: name not in known)
    table.bad_rows(unknown, "workload_class", f"{{}} is not a class of {CLASSES}", column.names)
    return column.names


def read_follows(table: Table, names: Names, kinds: Names) -> Names:
    """Return the reservation whose holdings the affinity of each reservation follows, (R,) str or None.

    names, kinds  (R,) str   the reservations, and their kinds
    """
    if not table.has("affinity_follows"):
        return np.full(len(table), None, object)
    column = table.strings("affinity_follows", nullable=True)
    known, itself = {*names}, column.names == names
    others = {*names[kinds != ReservationKind.GUARANTEED]}
    followers = {name for name, other in zip(names, column.names, strict=True) if other is not None and other != name}
    wrong = (
        (column.matches(lambda name: name not in known), "{} is not a reservation"),
        (column.matches(lambda name: name in others), "{} is not a guaranteed reservation"),
        (itself, "{} is the reservation itself"),
        (column.matches(lambda name: name in followers), "{} follows another reservation itself"),
    )
    for rows, message in wrong:
        table.bad_rows(rows, "affinity_follows", message, column.names)
    return column.names


def read_priorities(table: Table) -> Ints:
    """Return the class of each reservation, (R,)."""
    if not table.has("priority"):
        return np.full(len(table), PRIORITY_MIDDLE, np.int64)
    given = table.numbers("priority")
    known = np.isin(given, np.arange(PRIORITY_MAX + 1))
    table.bad_rows(np.isfinite(given) & ~known, "priority", f"is not a whole number from 0 to {PRIORITY_MAX}")
    return np.where(known, given, PRIORITY_MIDDLE).astype(np.int64)


def read_move_costs(table: Table) -> Floats:
    """Return the factor of each reservation on the costs of moves, (R,)."""
    if not table.has("move_cost"):
        return np.ones(len(table))
    given = table.numbers("move_cost")
    outside = (given < MOVE_COST_MIN) | (given > MOVE_COST_MAX)
    table.bad_rows(np.isfinite(given) & outside, "move_cost", f"is not from {MOVE_COST_MIN:g} to {MOVE_COST_MAX:g}")
    return given


def read_allowed(table: Table, datacenters: Names) -> Bools:
    """Return which datacenters may hold servers of each reservation, (R, D).

    The column `datacenters` has a JSON array of names as text; null: all. A name without servers may be among them.
    """

    def parse(given: object) -> Bools:
        names = _names_in(given)
        allowed = np.isin(datacenters.astype(str), names)
        if not allowed.any():
            raise unknown("datacenter", names[0], datacenters.tolist())
        return allowed

    form = "is not a JSON array with the name of a datacenter of this region"
    every = np.ones(len(datacenters), bool)
    longest = _DATACENTERS_CHARACTERS_MAX
    found, value = read_json_column(table, "datacenters", parse, every, form=form, longest=longest)
    return np.array(found, bool)[value]


def read_survived_kinds(table: Table, kinds: tuple[DomainKind, ...]) -> Bools:
    """Return which kinds' loss each reservation survives, (R, J).

    The column `survives_loss_of` has a JSON array of kinds as text; null: none.
    """
    known = [kind.name for kind in kinds]

    def parse(given: object) -> Bools:
        names = _names_in(given)
        for name in names:
            if name not in known:
                raise unknown("kind of domain", name, known)
        return np.isin(known, names)

    form = f"is not a JSON array of kinds that servers.parquet has a column for: {DOMAIN_PREFIX}KIND"
    none = np.zeros(len(kinds), bool)
    longest = _KINDS_CHARACTERS_MAX
    found, value = read_json_column(table, "survives_loss_of", parse, none, form=form, longest=longest)
    return np.array(found, bool)[value]


def _names_in(given: object) -> list[str]:
    """Return the names in an array of names. Raises ValueError for any other value, and for an empty array."""
    if not isinstance(given, list) or not given or not all(isinstance(name, str) for name in given):
        raise ValueError
    return given


def read_limit(table: Table, field: str) -> Floats:
    """Return the limit of each reservation, (R,); inf: none."""
    values = table.numbers(field, nullable=True)
    return np.where(np.isnan(values), np.inf, values)


def read_share_max(table: Table, field: str) -> Floats:
    """Return the most of its capacity that one domain may hold of each reservation, (R,), above 0 and at most 1; inf:
    no limit, as without the column.
    """
    if not table.has(field):
        return np.full(len(table), np.inf)
    values = table.numbers(field, nullable=True, most=1.0)
    table.bad_rows(values == 0, field, "is 0: no server may join; give a share above 0, or null for no limit")
    return np.where(np.isnan(values), np.inf, values)


def read_pairs(
    table: Table, field: str, what: str, value: str, reservations: Names, columns: Names, absent: float, most: float
) -> Floats:
    """Return a table of (reservation, column, value) as a dense (R, columns) array. Values are at most `most`."""
    r, c, v = (
        table.references("reservation", reservations, "reservation"),
        table.references(field, columns, what),
        table.numbers(value, most=most),
    )
    table.unique("reservation", r.astype(np.int64) * (len(columns) + 2) + c, f"this pair of reservation and {what}")
    dense = np.full((len(reservations), len(columns)), absent)
    known = (r >= 0) & (c >= 0)
    dense[r[known], c[known]] = v[known]
    return dense
