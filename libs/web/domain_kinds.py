"""Check the kinds of domain that a spec names."""

from __future__ import annotations

from collections.abc import Sequence

from libs.domain.region import Region
from libs.store.fleet.known_names import known_kinds, placed_kinds
from libs.store.platform.database import Transaction
from libs.web.problems import FieldError

SURVIVES = "spec.survives_loss_of"


def wrong_kinds(tx: Transaction, region: Region, kinds: Sequence[str], field: str = SURVIVES) -> list[FieldError]:
    """Return an error for each of `kinds` that the region does not have, or of which no server has a place.

    field   the field of the request that names them
    """
    if not kinds:
        return []
    known, placed = known_kinds(tx, region.region_id), placed_kinds(tx, region.region_id)
    return [_error(field, region.name, kind, known) for kind in kinds if kind not in placed]


def _error(field: str, region: str, kind: str, known: Sequence[str]) -> FieldError:
    if kind in known:
        code, message = "no_places", f"no server of {region} has a place of the kind {kind}: import places of it first"
    else:
        has = f"it has {', '.join(known)}" if known else "it has none"
        code, message = "unknown_name", f"{region} has no kind of domain called {kind}: {has}"
    return FieldError(field=field, location="body", code=code, message=message, known=list(known))
