"""`/v1/regions/{region}/power`: the watts that domains draw, and the limits that plans keep."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter, Depends, Response
from pydantic import ConfigDict, Field

from libs.domain.power import LIMITS_MAX, DomainPower, PowerLimit
from libs.domain.principal import Role
from libs.store.fleet.power_limits import put_power_limits
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction
from libs.store.regions.region_power import RegionPower, load_region_power
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import RequestModel, ResponseModel
from libs.web.openapi import headers, problems
from libs.web.power_limits import Headroom, LimitedDomainIn, wrong_limits
from libs.web.problems import invalid
from libs.web.reasons import GivenReason
from services.broker.api.regions import RegionName

router = APIRouter(prefix="/v1/regions", tags=["regions"])
POWER_BYTES_MAX = 8_000_000
"""Limit of a body, for LIMITS_MAX limits with the longest names."""


class PowerLimitIn(LimitedDomainIn):
    """The most that the servers of one domain may draw."""

    headroom: Headroom = Field(default=0.0, description="Share of limit_w that plans keep free")


class PowerLimitsIn(RequestModel):
    """All limits of a region. They replace the earlier ones."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"limits": [{"domain": "msb-03", "limit_w": 1_500_000, "headroom": 0.1}]}]}
    )
    limits: list[PowerLimitIn] = Field(max_length=LIMITS_MAX)
    reason: GivenReason | None = Field(default=None, description="Why, for the audit trail")


class PowerLimitOut(ResponseModel):
    """The most that the servers of one domain may draw."""

    kind: str
    domain: str
    limit_w: float
    headroom: float = Field(description="Share of limit_w that plans keep free")


class DomainPowerOut(ResponseModel):
    """The power of one domain."""

    kind: str
    domain: str
    current_w: float = Field(description="W drawn by current bindings: full_w of a type in a reservation, else idle_w")
    target_w: float = Field(description="W drawn once all servers are where their targets say")
    full_w: float = Field(description="W of all its servers in full")
    limit_w: float | None = Field(description="W that it can feed; null: no limit")
    headroom: float | None = Field(description="Share of limit_w that plans keep free")
    allowed_w: float | None = Field(description="W that plans may use: limit_w less the headroom")


class RegionPowerOut(ResponseModel):
    """The power of a region."""

    region: str
    limits: list[PowerLimitOut] = Field(description="What operators set, in their order")
    domains: list[DomainPowerOut] = Field(description="All MSBs, and the other domains with a limit")
    current_variance: float | None = Field(
        description="Variance over MSBs of current_w as a share of full_w; null without watts"
    )
    target_variance: float | None = Field(description="The same for target_w")
    types_without_watts: list[str] = Field(description="Hardware types that count 0 W: set idle_w and full_w for them")
    generation: int = Field(description="Of the limits; 0 if none were ever set. Send it as If-Match")


@router.get(
    "/{region}/power",
    operation_id="get_region_power",
    responses={200: {"headers": headers("ETag")}, **problems(404)},
)
def get_power(region: RegionName, context: Context, response: Response) -> RegionPowerOut:
    """Return the watts that the domains of a region draw, and their limits."""
    with context.database.snapshot() as tx:
        found = load_region_power(tx, load_region(tx, region).region_id)
    response.headers.update(etag(found.generation))
    return _out(region, found)


@router.put(
    "/{region}/power",
    operation_id="put_power_limits",
    response_model=RegionPowerOut,
    dependencies=[Depends(require(Role.OPERATOR))],
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def put_power(
    region: RegionName,
    body: PowerLimitsIn,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
) -> Response:
    """Replace the limits on power of a region.

    Plans add no server to a domain without room from now on. A domain that draws more than a new limit is repaired by
    the next solves, and no reservation becomes short for it.
    """

    def effect(tx: Transaction) -> Answer:
        region_id = load_region(tx, region).region_id
        limits = [PowerLimit(**one.model_dump()) for one in body.limits]
        errors = [*wrong_limits(tx, region_id, body.limits, lambda number: f"limits.{number}")]
        if errors:
            raise invalid(*errors)
        put_power_limits(
            tx,
            region_id,
            limits,
            generation=expected,
            actor=principal.name,
            now=context.clock.now(),
            reason=body.reason,
        )
        found = load_region_power(tx, region_id)
        return Answer(200, _out(region, found), etag(found.generation))

    return write.once(effect)


def _out(region: str, found: RegionPower) -> RegionPowerOut:
    return RegionPowerOut(
        region=region,
        limits=[PowerLimitOut(**asdict(one)) for one in found.limits],
        domains=[_domain_out(one) for one in found.domains],
        current_variance=found.current_variance,
        target_variance=found.target_variance,
        types_without_watts=list(found.untold),
        generation=found.generation,
    )


def _domain_out(one: DomainPower) -> DomainPowerOut:
    return DomainPowerOut(**asdict(one), allowed_w=one.allowed_w)
