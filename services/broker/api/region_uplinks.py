"""`/v1/regions/{region}/uplinks`: what racks send, and the limits that solves weigh."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from pydantic import ConfigDict, Field

from libs.domain.principal import Role
from libs.domain.uplinks import UPLINKS_MAX
from libs.store.fleet.known_names import known_racks
from libs.store.fleet.rack_uplinks import put_rack_uplinks
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction
from libs.store.regions.region_uplinks import RegionUplinks, load_region_uplinks
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import RequestModel, ResponseModel, SomeName
from libs.web.names import unknown_name
from libs.web.openapi import headers, problems
from libs.web.problems import invalid
from libs.web.reasons import GivenReason
from libs.web.uplinks import LimitGbit
from services.broker.api.regions import RegionName

router = APIRouter(prefix="/v1/regions", tags=["regions"])
UPLINKS_BYTES_MAX = 16_000_000
"""Limit of a body, for UPLINKS_MAX racks with long names."""
SHOWN_MAX = 100
"""Most racks of an answer with what they send."""
_ERRORS_MAX = 20


class UplinksIn(RequestModel):
    """The limits of all racks of a region. They replace the earlier ones."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"limits": {"rack-000017": 200}, "others_gbit": 100, "reason": "new switches"}]}
    )
    limits: dict[SomeName, LimitGbit] = Field(max_length=UPLINKS_MAX, description="Rack -> Gbit/s that it may send")
    others_gbit: LimitGbit | None = Field(
        default=None, description="Limit of every other rack that the region has now; null: they have none"
    )
    reason: GivenReason | None = Field(default=None, description="Why, for the audit trail")


class RackTrafficOut(ResponseModel):
    """The traffic of one rack with a limit."""

    rack: str
    limit_gbit: float
    current_gbit: float = Field(description="Gbit/s by current bindings: gbit_per_rru of a reservation, times its RRU")
    target_gbit: float = Field(description="Gbit/s once all servers are where their targets say")


class RegionUplinksOut(ResponseModel):
    """The uplinks of a region."""

    region: str
    limits: dict[str, float] = Field(description="Rack -> Gbit/s, as operators set them; all other racks have no limit")
    racks_limited: int = Field(description="Racks with a limit")
    fullest: list[RackTrafficOut] = Field(
        description=f"Racks with a limit, the one most above it by targets first; at most {SHOWN_MAX}"
    )
    racks_above: int = Field(description="Racks above their limits by targets")
    current_above_gbit: float = Field(description="Gbit/s above the limits of racks now, added up")
    target_above_gbit: float = Field(description="The same by targets")
    generation: int = Field(description="Of the limits; 0 if none were ever set. Send it as If-Match")


@router.get(
    "/{region}/uplinks",
    operation_id="get_region_uplinks",
    responses={200: {"headers": headers("ETag")}, **problems(404)},
)
def get_uplinks(
    region: RegionName,
    context: Context,
    response: Response,
    limits: Annotated[
        bool, Query(description="false: leave the limits out, which may be many; `fullest` stays")
    ] = True,
) -> RegionUplinksOut:
    """Return what the racks of a region send, and the limits of their uplinks."""
    with context.database.snapshot() as tx:
        found = load_region_uplinks(tx, load_region(tx, region).region_id)
    response.headers.update(etag(found.generation))
    return _out(region, found, limits=limits)


@router.put(
    "/{region}/uplinks",
    operation_id="put_rack_uplinks",
    response_model=RegionUplinksOut,
    dependencies=[Depends(require(Role.OPERATOR))],
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def put_uplinks(
    region: RegionName, body: UplinksIn, expected: ExpectedGeneration, write: Write, principal: Asking, context: Context
) -> Response:
    """Replace the limits of the uplinks of a region's racks.

    The next solves relieve racks above their limits at the price `uplink_cost` of the policy. No plan is refused for a
    rack above its limit.
    """

    def effect(tx: Transaction) -> Answer:
        region_id = load_region(tx, region).region_id
        known = known_racks(tx, region_id)
        unknown = sorted(set(body.limits) - known)[:_ERRORS_MAX]
        if unknown:
            raise invalid(*(unknown_name(f"limits.{name}", "rack", name, known) for name in unknown))
        others = {} if body.others_gbit is None else dict.fromkeys(sorted(known), body.others_gbit)
        put_rack_uplinks(
            tx,
            region_id,
            others | body.limits,
            generation=expected,
            actor=principal.name,
            now=context.clock.now(),
            reason=body.reason,
        )
        found = load_region_uplinks(tx, region_id)
        return Answer(200, _out(region, found), etag(found.generation))

    return write.once(effect)


def _out(region: str, found: RegionUplinks, *, limits: bool = True) -> RegionUplinksOut:
    return RegionUplinksOut(
        region=region,
        limits=found.limits if limits else {},
        racks_limited=len(found.limits),
        fullest=[RackTrafficOut.model_validate(one) for one in found.traffic[:SHOWN_MAX]],
        racks_above=sum(one.target_above_gbit > 0 for one in found.traffic),
        current_above_gbit=sum(one.current_above_gbit for one in found.traffic),
        target_above_gbit=sum(one.target_above_gbit for one in found.traffic),
        generation=found.generation,
    )
