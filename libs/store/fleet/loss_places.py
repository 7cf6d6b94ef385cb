"""The domains of servers that reservations can lose, as SQL: their MSB, and their domain of each further kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from libs.domain.arrays import Bools, Ints
from libs.domain.domain_kind import UNPLACED, is_kind
from libs.store.platform.bulk import copy_out
from libs.store.platform.database import Transaction

_KINDS = sa.text("""
    SELECT DISTINCT unnest(survives_loss_of) AS kind FROM reservations
    WHERE region_id = :region_id AND deleted_at IS NULL AND survives_loss_of <> '{}'""")


@dataclass(frozen=True, slots=True)
class LossPlaces:
    """Parts of queries that read servers or reservations. A region has few kinds, and most have none.

    kinds   the further kinds that a live reservation of the region survives, in order of name
    """

    kinds: tuple[str, ...]

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if not is_kind(kind):  # they are written into SQL
                raise ValueError(f"{kind!r} is not a kind")

    @property
    def joins(self) -> str:
        """Return the joins that `domains` needs, after a `servers`. They add no column name that a query may have."""
        return " ".join(
            f"LEFT JOIN (SELECT server_id AS server_id_{k}, domain_id AS domain_id_{k} FROM server_domains "
            f"WHERE kind = '{kind}') AS place_{k} ON server_id_{k} = servers.server_id"
            for k, kind in enumerate(self.kinds)
        )

    @property
    def domains(self) -> tuple[str, ...]:
        """Return an expression per further kind: the id of the server's domain, or UNPLACED."""
        return tuple(f"coalesce(domain_id_{k}, {UNPLACED})" for k in range(len(self.kinds)))

    @property
    def survives(self) -> tuple[str, ...]:
        """Return a condition on `reservations` per kind of loss, MSBs first: whether it survives the loss."""
        return ("survives_msb_loss", *(f"'{kind}' = ANY(survives_loss_of)" for kind in self.kinds))

    def fields(self, name: str, dtype: str, *, msb: bool) -> dict[str, str]:
        """Return the columns of `copy_out` for one value per kind, with or without MSBs, that `stacked` reads."""
        return {f"{name}_{k}": dtype for k in range(len(self.kinds) + msb)}

    def stacked(self, found: NDArray[np.void], name: str, *, msb: bool) -> Ints | Bools:
        """Return the columns of `fields` as one array (N, kinds)."""
        columns = [found[f"{name}_{k}"] for k in range(len(self.kinds) + msb)]
        if not columns:
            return np.zeros((len(found), 0), np.int64)
        table = np.stack(columns, axis=1)
        return table.astype(table.dtype.newbyteorder("="))


def load_loss_places(tx: Transaction, region_id: int) -> LossPlaces:
    """Return the parts of queries for the kinds that reservations of the region survive now."""
    return LossPlaces(tuple(sorted(tx.execute(_KINDS, {"region_id": region_id}).scalars().all())))


def load_domain_ids(tx: Transaction, region_id: int, kinds: Sequence[str]) -> tuple[Ints, ...]:
    """Return the ids of the domains of each kind, ascending."""
    query = "SELECT domain_id FROM domains WHERE region_id = %(region)s AND kind = %(kind)s ORDER BY domain_id"
    found = (copy_out(tx, query, {"region": region_id, "kind": kind}, {"id": ">i8"}) for kind in kinds)
    return tuple(rows["id"].astype(np.int64) for rows in found)
