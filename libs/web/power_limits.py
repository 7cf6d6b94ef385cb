"""The fields of limits on the power of domains in requests, and the names that a region lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

from pydantic import Field

from libs.domain.domain_kind import MSB_KIND
from libs.domain.power import HEADROOM_MAX, WATTS_MAX
from libs.store.fleet.known_names import known_domains, known_kinds, known_msbs
from libs.store.platform.database import Transaction
from libs.web.domain_kinds import PoweredKind
from libs.web.model import Name, Number, RequestModel
from libs.web.names import unknown_name
from libs.web.problems import FieldError

Headroom = Annotated[Number, Field(ge=0, le=HEADROOM_MAX)]


class LimitedDomainIn(RequestModel):
    """A domain, and the most that its servers may draw."""

    kind: PoweredKind = Field(default=MSB_KIND, description="MSB, or a further kind of domain such as power_row")
    domain: Name = Field(description="Name of the domain")
    limit_w: Annotated[Number, Field(gt=0, le=WATTS_MAX)] = Field(description="W that the domain can feed")


def wrong_limits(
    tx: Transaction, region_id: int, limits: Sequence[LimitedDomainIn], field_of: Callable[[int], str]
) -> Iterator[FieldError]:
    """Yield an error for each domain that the region lacks, and for each second limit on one domain.

    field_of   the field of the limit of a number, for errors
    """
    if not limits:
        return
    kinds = frozenset({MSB_KIND, *known_kinds(tx, region_id)})
    places = {
        kind: known_msbs(tx, region_id) if kind == MSB_KIND else known_domains(tx, region_id, kind)
        for kind in kinds & {one.kind for one in limits}
    }
    seen = set()
    for number, one in enumerate(limits):
        field = field_of(number)
        if one.kind not in places:
            yield unknown_name(f"{field}.kind", "kind of domain", one.kind, kinds)
        elif one.domain not in places[one.kind]:
            yield unknown_name(f"{field}.domain", one.kind, one.domain, places[one.kind])
        elif (one.kind, one.domain) in seen:
            message = f"{one.kind} {one.domain} has a limit already: give one limit for each domain"
            yield FieldError(field=f"{field}.domain", location="body", code="given_twice", message=message)
        seen.add((one.kind, one.domain))
