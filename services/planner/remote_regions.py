"""Read the supply and the reservations of regions in other installations, from their portals.

A region either says all that a plan needs, or the plan is not made: a part of an answer would look like lost capacity.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Annotated, TypeVar
from urllib.parse import quote, urlencode

from pydantic import BaseModel, Field, ValidationError

from libs.carriers.calls import CallLimits, Calls, work_off
from libs.carriers.portal_addresses import PortalAddress, PortalSettings, TokenError
from libs.domain.region_supply import TypeSupply
from libs.domain.reservation_phase import ReservationPhase
from libs.reconcile.call_retries import PULLS, CallSettings, Retries

M = TypeVar("M", bound=BaseModel)
_AGENT = "plimsoll-planner"
_PAGE, _PAGES_MAX = 100, 200
"""Reservations of one call, and calls for them: an answer stays below the limit on the bytes of one."""
_REGION_S_MAX = 600.0
"""Real seconds for all calls about one region."""
REGION_UNKNOWN = "RegionUnknown"
"""The reason of a plan run for which a region gave no usable answer."""
_Servers = Annotated[int, Field(ge=0, le=100_000_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionReading:
    """The answer of a region's portal.

    supply         by step, without expected deliveries: the planning input `deliveries` has those
    promised_rru   reservation -> RRU promised, as libs.store.capacity.promised has them
    """

    supply: tuple[tuple[TypeSupply, ...], ...]
    promised_rru: Mapping[str, float]


class RegionsUnknown(Exception):
    """The portals of some regions gave no usable answer. The message names each region, with the cause."""

    def __init__(self, causes: Mapping[str, str]) -> None:
        said = "; ".join(f"{region}: {causes[region]}" for region in sorted(causes))
        super().__init__(
            f"The supply and the reservations of some regions are not known. {said}. Mend it and ask for a plan again. "
            "Without its portal in PLIMSOLL_PORTALS, the planning input `supply` counts for a region."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionQuestion:
    """The regions of other installations that a plan needs, and its steps.

    starts   start of each step; a step lasts `step`
    now      a portal tells no supply of an earlier time, so it is asked for that of now
    """

    regions: frozenset[str]
    starts: tuple[datetime, ...]
    step: timedelta
    now: datetime


@dataclass(frozen=True, slots=True)
class RemoteRegions:
    """Asks the portals of regions. `portals` may name regions of this installation too; they are not asked."""

    portals: Mapping[str, PortalAddress]
    limits: CallLimits = field(default_factory=CallLimits)
    retries: Retries = PULLS

    def read(self, question: RegionQuestion) -> dict[str, RegionReading]:
        """Return what each region says. The portals are asked at the same time. Raises RegionsUnknown."""
        names = sorted(question.regions)

        async def ask(calls: Calls, region: str) -> RegionReading | str:
            try:
                async with asyncio.timeout(_REGION_S_MAX):
                    return await _Region(calls, region, self.portals[region], self.retries).read(question)
            except TimeoutError:
                return f"it took more than {_REGION_S_MAX:g} s to read"
            except (_NotUsable, TokenError) as error:
                return str(error)

        no_time: RegionReading | str = "there was no time to ask"
        found = work_off(names, ask, replace(self.limits, tick_s=_REGION_S_MAX), left=no_time)
        answers = dict(zip(names, found, strict=True))
        unknown = {region: said for region, said in answers.items() if isinstance(said, str)}
        if unknown:
            raise RegionsUnknown(unknown)
        return {region: said for region, said in answers.items() if not isinstance(said, str)}


class _NotUsable(Exception):
    """A portal gave no answer, or not the expected one."""


class _TypeSupply(BaseModel):
    hardware_type: Annotated[str, Field(min_length=1, max_length=200)]
    servers: _Servers
    embedded_buffer: _Servers
    shared_buffer: _Servers
    retired: _Servers
    returned: _Servers


class _Supply(BaseModel):
    """The answer of `/v1/regions/{region}/supply`. An older portal does not have `retired_until`."""

    region: str
    at: datetime
    retired_until: datetime
    hardware_types: Annotated[list[_TypeSupply], Field(max_length=10_000)]


class _Spec(BaseModel):
    capacity_rru: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Status(BaseModel):
    """An older portal does not have `granted_rru`. All that a reservation asks for then counts as granted."""

    phase: ReservationPhase
    granted_rru: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


class _Reservation(BaseModel):
    region: str
    name: str
    spec: _Spec
    status: _Status


class _Page(BaseModel):
    """The answer of `/v1/reservations`."""

    items: list[_Reservation]
    next_cursor: str | None


class _Region:
    """The calls about one region, one after another."""

    def __init__(self, calls: Calls, region: str, portal: PortalAddress, retries: Retries) -> None:
        self._calls, self._region, self._base, self._retries = calls, region, portal.base, retries
        self._headers = portal.headers(_AGENT)

    async def read(self, question: RegionQuestion) -> RegionReading:
        """Raises _NotUsable."""
        now, spans = question.now, [(start, start + question.step) for start in question.starts]
        supply = tuple([await self._supply(max(start, now), max(end, now)) for start, end in spans])
        return RegionReading(supply=supply, promised_rru=await self._promised_rru())

    async def _supply(self, at: datetime, until: datetime) -> tuple[TypeSupply, ...]:
        query = {"at": at.isoformat(), "retired_until": until.isoformat()}
        found = await self._ask(_Supply, f"/v1/regions/{quote(self._region, safe='')}/supply", query)
        if (found.region, found.at, found.retired_until) != (self._region, at, until):
            raise _NotUsable("the portal answered about another region or date")
        return tuple(TypeSupply(**one.model_dump()) for one in found.hardware_types)

    async def _promised_rru(self) -> dict[str, float]:
        query = {"region": self._region, "kind": "guaranteed", "limit": str(_PAGE)}
        found: dict[str, float] = {}
        for _ in range(_PAGES_MAX):
            page = await self._ask(_Page, "/v1/reservations", query)
            for one in page.items:
                if one.region != self._region:
                    raise _NotUsable(f"the portal answered about region {one.region!r}")
                if one.status.phase not in (ReservationPhase.SCHEDULED, ReservationPhase.DELETED):
                    granted_rru = one.status.granted_rru
                    found[one.name] = one.spec.capacity_rru if granted_rru is None else granted_rru
            if page.next_cursor is None:
                return found
            query["cursor"] = page.next_cursor
        raise _NotUsable(f"it has more than {_PAGE * _PAGES_MAX:,} reservations")

    async def _ask(self, kind: type[M], path: str, query: Mapping[str, str]) -> M:
        url = f"{self._base}{path}?{urlencode(query)}"
        reply = await self._calls.read(url, headers=self._headers, retries=self._retries)
        if reply.status != 200:
            raise _NotUsable(f"GET {path}: {reply.message}")
        try:
            return kind.model_validate(reply.document)
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            field = ".".join(map(str, first["loc"])) or "the answer"
            raise _NotUsable(f"GET {path}: {field}: {first['msg']}") from None


def create() -> RemoteRegions:
    """Return the regions that the environment names; none if PLIMSOLL_PORTALS is not set. Raises ValueError."""
    settings = PortalSettings.from_environment()
    retries = CallSettings.from_environment().pulls()
    return RemoteRegions(settings.read().regions, settings.limits(), retries)
