"""Read and write the column `domain_limits` of reservations.parquet: limits per kind of domain, as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pyarrow as pa

from libs.domain.arrays import Floats
from libs.domain.domain_kind import KIND_CHARACTERS_MAX, KINDS_MAX, DomainKind
from libs.domain.domain_limits import (
    LIMITS,
    SERVERS_MAX,
    SHARES,
    DomainLimit,
    limit_kinds,
    limits_in,
    limits_table,
    meaningless_preference,
)
from libs.interchange.files.tables import Table
from libs.interchange.region.json_columns import WrongValue, read_json_column, unknown

COLUMN = "domain_limits"
_CHARACTERS_MAX = (KINDS_MAX + 2) * (KIND_CHARACTERS_MAX + 100)


def read_domain_limits(table: Table, kinds: tuple[DomainKind, ...]) -> Floats:
    """Return the limits of each reservation, (R, K, L). Without the column there are none.

    A value is a JSON object: a kind -> an object with some of LIMITS. Null: no limits.
    """
    form = (
        'is not a JSON object such as {"network_block": {"domains_max": 1}}: a kind is datacenter, msb or one '
        f"with a column in servers.parquet; {', '.join(one for one in LIMITS if one not in SHARES)} are from 1 to "
        f"{SERVERS_MAX}, {', '.join(SHARES)} is above 0 and at most 1"
    )
    none: tuple[DomainLimit, ...] = ()
    found, value = read_json_column(
        table, COLUMN, lambda given: _limits(given, limit_kinds(kinds)), none, form=form, longest=_CHARACTERS_MAX
    )
    return np.array([limits_table(limits, kinds) for limits in found])[value]


def limits_column(table: Floats, kinds: tuple[DomainKind, ...]) -> pa.Array | None:
    """Return the column of a table (R, K, L); None if no reservation has a limit."""
    if not np.isfinite(table).any():
        return None
    return pa.array([_text(limits_in(row, kinds)) for row in table], pa.string())


def _text(limits: tuple[DomainLimit, ...]) -> str | None:
    if not limits:
        return None
    # A reservation may have a meaningless preference from before they were refused, and no file may have one.
    said = (replace(one, domains_preferred=None) if _preference(one) else one for one in limits)
    named = {one.kind: {name: getattr(one, name) for name in LIMITS} for one in said}
    return json.dumps({k: {name: value for name, value in of.items() if value is not None} for k, of in named.items()})


def _limits(given: object, kinds: tuple[str, ...]) -> tuple[DomainLimit, ...]:
    """Return the limits in a value. Raises ValueError if it is not of the form, and WrongValue."""
    if not isinstance(given, dict) or not given:
        raise ValueError
    limits = []
    for kind, of in given.items():
        if kind not in kinds:
            raise unknown("kind of domain", kind, kinds)
        if not isinstance(of, dict) or not of:
            raise ValueError
        for name in of.keys() - set(LIMITS):
            raise unknown("limit", name, LIMITS)
        if not all(_fits(name, value) for name, value in of.items()):
            raise ValueError
        limits.append(DomainLimit(kind=kind, **of))
        wrong = _preference(limits[-1])
        if wrong is not None:
            raise WrongValue(f"says that domains_preferred of {kind} {wrong}")
    return tuple(limits)


def _preference(limit: DomainLimit) -> str | None:
    return meaningless_preference(limit.domains_preferred, limit.domains_max)


def _fits(name: str, value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return False
    if name in SHARES:
        return 0 < value <= 1
    return isinstance(value, int) and 1 <= value <= SERVERS_MAX
