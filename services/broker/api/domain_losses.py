"""`/v1/regions/{region}/domain-losses`: for each domain of a kind, who would be short if it went now."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from libs.domain.domain_kind import PLACE_KINDS
from libs.domain.domain_limits import MSB
from libs.domain.loss_outlook import LossOutlook
from libs.domain.page import ITEMS_MAX
from libs.ras.loss_outlook import foresee_losses
from libs.store.capacity.loss_ground import load_loss_ground
from libs.store.fleet.known_names import placed_kinds
from libs.store.fleet.regions import load_region
from libs.web.context import Context
from libs.web.domain_kinds import PlaceKind, wrong_kinds
from libs.web.model import ResponseModel
from libs.web.openapi import problems
from libs.web.problems import invalid
from services.broker.api.regions import RegionName

router = APIRouter(prefix="/v1/regions", tags=["regions"])
NAMED_MAX = 50


class ShortOut(ResponseModel):
    """A reservation that would hold less than its promise."""

    reservation: str
    owner: str
    capacity_rru: float = Field(description="RRU that it asks for")
    granted_rru: float = Field(description="RRU of them that were granted: its promise")
    lost_rru: float = Field(description="RRU that it holds in the domain now")
    missing_now_rru: float = Field(description="RRU that it lacks of its promise already")
    missing_rru: float = Field(description="RRU that it would lack of its promise")


class LossOut(ResponseModel):
    """The effect of the loss of one domain, before a solve or a move could help."""

    servers: int
    down: int = Field(description="Servers that are down already, for an unplanned reason")
    in_use: int = Field(description="Servers that run containers")
    spare: int = Field(description="Servers of shared buffers that are up")
    reservations: int = Field(description="Guaranteed reservations that hold capacity in it")
    reservations_short: int = Field(description="Reservations that would hold less than their promise")
    broken: int = Field(description="Of them, those that ask to survive the loss of any one domain of the kind")
    missing_rru: float = Field(description="RRU that the loss adds to what these reservations lack of their promises")


class ShortAfterDomainLossOut(ShortOut):
    """A reservation that would hold less than its promise."""

    survives: bool = Field(description="Whether it asks to survive the loss of any one domain of the kind")


class DomainLossOut(LossOut):
    """The effect of the loss of one domain, before a solve or a move could help."""

    domain: str = Field(description="Its name. The servers without a place of a further kind count as one domain")
    datacenter: str | None = Field(description="Its datacenter; null: a domain of a further kind may cross datacenters")
    short: list[ShortAfterDomainLossOut] = Field(description="The first `named_max` of them, most missing RRU first")


class DomainLossesOut(ResponseModel):
    """The outlook for the domains of one kind that have servers."""

    region: str
    kind: str
    kinds: list[str] = Field(description="The kinds that the region has: those of every region, and then further ones")
    servers: int = Field(description="Servers of all domains")
    down: int = Field(description="Of them, those that are down already, for an unplanned reason")
    domains: int = Field(description="All domains of the kind that have servers")
    domains_breaking: int = Field(
        description="Of them, those whose loss leaves a reservation short that asks to survive"
    )
    items: list[DomainLossOut] = Field(
        description="At most `limit` of them: those that break most promises, and then those that take most RRU"
    )


@router.get("/{region}/domain-losses", operation_id="foresee_domain_losses", responses=problems(404, 422))
def get_domain_losses(
    region: RegionName,
    context: Context,
    kind: Annotated[
        PlaceKind, Query(description="datacenter, msb, rack, or a further kind of the region, such as network_block")
    ] = MSB,
    limit: Annotated[int, Query(ge=1, le=ITEMS_MAX, description="Largest number of domains")] = 100,
    named_max: Annotated[
        int, Query(ge=0, le=NAMED_MAX, description="Largest number of reservations to name for each domain")
    ] = NAMED_MAX,
) -> DomainLossesOut:
    """Tell for each domain of a kind which reservations would hold less than their promise if it went now.

    A request that waits is promised only as far as it was granted.
    """
    with context.database.snapshot() as tx:
        known = load_region(tx, region)
        kinds = (*PLACE_KINDS, *placed_kinds(tx, known.region_id))
        if kind not in kinds:
            raise invalid(*wrong_kinds(tx, known, [kind], "kind", also=PLACE_KINDS, location="query"))
        ground = load_loss_ground(tx, region, kind)
    found = foresee_losses(ground)
    worst = sorted(found, key=lambda one: (-one.broken, -one.missing_rru))
    return DomainLossesOut(
        region=region,
        kind=kind,
        kinds=[*kinds],
        servers=sum(one.servers for one in found),
        down=sum(one.down for one in found),
        domains=len(found),
        domains_breaking=sum(one.broken > 0 for one in found),
        items=[DomainLossOut.model_validate(figures_of(one, DomainLossOut, named_max)) for one in worst[:limit]],
    )


def figures_of(one: LossOutlook, out: type[LossOut], named_max: int) -> dict[str, object]:
    """Return the fields of `out` that an outlook has, and the first `named_max` reservations that would be short."""
    values = {name: getattr(one, name, None) for name in out.model_fields}
    return {**values, "reservations_short": len(one.short), "short": one.short[:named_max]}
