"""Read the kinds of domain that requests name, and check them against a region."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import BeforeValidator

from libs.domain.domain_kind import MSB_KIND, TAKEN_KINDS
from libs.domain.domain_limits import MSB
from libs.domain.region import Region
from libs.store.fleet.known_names import known_domains, known_kinds, placed_kinds
from libs.store.fleet.unavailability_events import find_scope
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound
from libs.web.model import Name, SomeName
from libs.web.names import unknown_name
from libs.web.problems import FieldError


def _with_msb_as(word: str) -> Callable[[object], object]:
    return lambda kind: word if isinstance(kind, str) and kind in (MSB, MSB_KIND) else kind


PlaceKind = Annotated[SomeName, BeforeValidator(_with_msb_as(MSB))]
"""A kind of domain: datacenter, msb, rack, or a further kind. MSB means msb."""
PoweredKind = Annotated[Name, BeforeValidator(_with_msb_as(MSB_KIND))]
"""A kind of domain with limits on power: MSB, or a further kind. msb means MSB."""

SURVIVES = "spec.survives_loss_of"


def wrong_kinds(
    tx: Transaction,
    region: Region,
    kinds: Sequence[str],
    field: str = SURVIVES,
    *,
    also: Sequence[str] = (),
    location: str = "body",
) -> list[FieldError]:
    """Return an error for each of `kinds` that the region does not have, or of which no server has a place.

    field      the field of the request that names them
    also       kinds that every region has, not among `kinds`, for an error to name beside the region's own
    location   where the field is: body or query
    """
    if not kinds:
        return []
    known, placed = known_kinds(tx, region.region_id), placed_kinds(tx, region.region_id)
    return [_error(field, location, region.name, kind, known, also) for kind in kinds if kind not in placed]


def wrong_scope(tx: Transaction, region: Region, scope: str, scope_name: str) -> list[FieldError]:
    """Return an error for an event's `scope` that is no kind of the region, or `scope_name` that is no domain of it.

    Servers, racks, MSBs and datacenters are not looked up.
    """
    if scope in TAKEN_KINDS:
        return []
    try:
        find_scope(tx, region.region_id, scope, scope_name)
    except NotFound:
        known = known_domains(tx, region.region_id, scope)
        wrong = wrong_kinds(tx, region, [scope], "scope", also=TAKEN_KINDS)
        return wrong or [unknown_name("scope_name", scope, scope_name, known)]
    return []


def _error(field: str, location: str, region: str, kind: str, known: Sequence[str], also: Sequence[str]) -> FieldError:
    if field == SURVIVES and kind == MSB:
        code, message = "needless_kind", "names further kinds only: leave out msb, and let survives_msb_loss be true"
    elif kind in known:
        code, message = "no_places", f"no server of {region} has a place of the kind {kind}: import places of it first"
    else:
        may = [*also, *known]
        has = f"it has {', '.join(may)}" if may else "it has none"
        code, message = "unknown_name", f"{region} has no kind of domain called {kind}: {has}"
    return FieldError(field=field, location=location, code=code, message=message, known=[*also, *known])
