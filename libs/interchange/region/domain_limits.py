"""Read and write the column `domain_limits` of reservations.parquet: limits per kind of domain, as JSON."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa

from libs.domain.arrays import Floats
from libs.domain.domain_kind import KIND_CHARACTERS_MAX, KINDS_MAX, DomainKind
from libs.domain.domain_limits import LIMITS, SERVERS_MAX, SHARES, DomainLimit, limit_kinds, limits_in, limits_table
from libs.interchange.files.bounds import parse_json
from libs.interchange.files.tables import Table

COLUMN = "domain_limits"
_CHARACTERS_MAX = (KINDS_MAX + 2) * (KIND_CHARACTERS_MAX + 100)


def read_domain_limits(table: Table, kinds: tuple[DomainKind, ...]) -> Floats:
    """Return the limits of each reservation, (R, K, L). Without the column there are none.

    A value is a JSON object: a kind -> an object with some of LIMITS. Null: no limits.
    """
    none = limits_table((), kinds)
    if not table.has(COLUMN):
        return np.broadcast_to(none, (len(table), *none.shape)).copy()
    column = table.strings(COLUMN, nullable=True, longest=_CHARACTERS_MAX)
    used, value = np.unique(column.codes, return_inverse=True)  # a dictionary may hold texts that no row uses
    by_value, known = np.empty((len(used), *none.shape)), np.ones(len(used), bool)
    for row, given in enumerate(column.values[used]):
        limits = () if given is None else _limits(given, limit_kinds(kinds))
        known[row] = limits is not None
        by_value[row] = none if limits is None else limits_table(limits, kinds)
    message = (
        'is not a JSON object such as {{"network_block": {{"domains_max": 1}}}}: a kind is datacenter, msb or one '
        f"with a column in servers.parquet; {', '.join(one for one in LIMITS if one not in SHARES)} are from 1 to "
        f"{SERVERS_MAX}, {', '.join(SHARES)} is above 0 and at most 1"
    )
    table.bad_rows(~known[value], COLUMN, message)
    return by_value[value]


def limits_column(table: Floats, kinds: tuple[DomainKind, ...]) -> pa.Array | None:
    """Return the column of a table (R, K, L); None if no reservation has a limit."""
    if not np.isfinite(table).any():
        return None
    return pa.array([_text(limits_in(row, kinds)) for row in table], pa.string())


def _text(limits: tuple[DomainLimit, ...]) -> str | None:
    if not limits:
        return None
    named = {one.kind: {name: getattr(one, name) for name in LIMITS} for one in limits}
    return json.dumps({k: {name: value for name, value in of.items() if value is not None} for k, of in named.items()})


def _limits(given: str, kinds: tuple[str, ...]) -> tuple[DomainLimit, ...] | None:
    """Return the limits in a text; None if it is not of the form."""
    try:
        found = parse_json(given)
    except ValueError:
        return None
    if not isinstance(found, dict) or not found:
        return None
    limits = []
    for kind, of in found.items():
        if kind not in kinds or not isinstance(of, dict) or not of or not set(of) <= set(LIMITS):
            return None
        if not all(_fits(name, value) for name, value in of.items()):
            return None
        limits.append(DomainLimit(kind=kind, **of))
    return tuple(limits)


def _fits(name: str, value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return False
    if name in SHARES:
        return 0 < value <= 1
    return isinstance(value, int) and 1 <= value <= SERVERS_MAX
