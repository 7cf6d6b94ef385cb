"""The spec of a reservation as JSON: by RRU or by count, in full or as a change."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from typing import Annotated, NamedTuple, TypeVar

from pydantic import Field

from libs.domain.domain_kind import KINDS_MAX
from libs.domain.domain_limits import DomainLimit
from libs.domain.guest import GUEST_SHARE_MIN, GUEST_SHARES_MAX
from libs.domain.reservation import (
    AFFINITY_SHARE_MAX,
    CAPACITY_RRU_MAX,
    MOVE_COST_MAX,
    MOVE_COST_MIN,
    PRIORITY_MAX,
    PRIORITY_MIDDLE,
    RRU_MIN,
    SERVER_RRU_MAX,
    CapacityUnit,
    ReservationSpec,
)
from libs.web.domain_limits import DomainLimitIn, DomainLimitOut
from libs.web.model import Flag, Name, Number, RequestModel, ResponseModel, SomeName, Time, Whole
from libs.web.problems import FieldError, Problem, invalid
from libs.web.resources import ResourceAmounts
from libs.web.uplinks import GbitPerRru

T = TypeVar("T")
_Rru = Annotated[Number, Field(ge=RRU_MIN, le=SERVER_RRU_MAX)]
_Share = Annotated[Number, Field(ge=0, le=AFFINITY_SHARE_MAX)]
_Limit = Annotated[Number, Field(gt=0, le=1)]


class _Unit(NamedTuple):
    """How a spec gives a capacity in one unit: the amount with its option of commands, and the types that it counts."""

    counts: str
    amount: str
    option: str
    types: tuple[str, ...]


_UNITS = {
    CapacityUnit.RRU: _Unit("RRU", "capacity_rru", "--capacity", ("rru", "workload_class")),
    CapacityUnit.COUNT: _Unit("servers", "count", "--count", ("hardware_types",)),
}


class SpecIn(RequestModel):
    """The wanted capacity: `capacity_rru` with `workload_class` or with `rru`, or `count` with `hardware_types`.

    In a region with an RRU catalogue, values of `rru` wait for an approval.

    In a resize, omitted fields keep their values.
    """

    capacity_rru: Annotated[Number, Field(ge=RRU_MIN, le=CAPACITY_RRU_MAX)] | None = Field(
        default=None, description="Guaranteed RRU; after any one loss that survives_msb_loss and survives_loss_of name"
    )
    rru: Annotated[dict[SomeName, _Rru], Field(min_length=1, max_length=500)] | None = Field(
        default=None, description="Hardware type -> RRU of one server; absent types are not used"
    )
    count: Annotated[Whole, Field(ge=1, le=10_000_000)] | None = Field(
        default=None, description="Guaranteed number of servers, instead of capacity_rru"
    )
    hardware_types: Annotated[list[SomeName], Field(min_length=1, max_length=500)] | None = Field(
        default=None, description="Types whose servers count as one each, instead of rru"
    )
    workload_class: SomeName | None = Field(
        default=None, description="Class of the region's RRU catalogue, instead of rru; its RRUs follow the catalogue"
    )
    resources: ResourceAmounts = Field(
        default_factory=dict,
        description="Resource -> amount that must be there too, such as cores or memory_gib, after each of these "
        "losses. A resource is a figure among the attributes of hardware types",
    )
    host_profile: Name = "default"
    survives_msb_loss: Flag = True
    survives_loss_of: Annotated[list[SomeName], Field(max_length=KINDS_MAX)] = Field(
        default_factory=list,
        description="Further kinds of domain, such as network_block: the capacity is also there after the loss of any "
        "one domain of each. The region's summary lists its kinds (domain_kinds)",
    )
    msb_spread_limit: _Limit | None = Field(
        default=None, description="Share of the capacity that one MSB may hold without a penalty; null: any"
    )
    rack_spread_limit: _Limit | None = Field(
        default=None, description="Share of the capacity that one rack may hold without a penalty; null: any"
    )
    affinity: Annotated[dict[SomeName, _Share], Field(max_length=100)] = Field(
        default_factory=dict,
        description="Datacenter -> wanted RRU as a share of capacity_rru; absent datacenters are unconstrained. "
        "The shares may sum to more than 1, because surviving an MSB loss takes more than capacity_rru",
    )
    affinity_follows: SomeName | None = Field(
        default=None,
        description="Another reservation of the region, instead of affinity: the shares are those of its RRU in each "
        "datacenter, and follow it at each solve; null: affinity is its own",
    )
    priority: Annotated[Whole, Field(ge=0, le=PRIORITY_MAX)] = Field(
        default=PRIORITY_MIDDLE,
        description="Class, 0 to 4: where capacity lacks, a higher class is served first. Above 2 needs an approval",
    )
    move_cost: Annotated[Number, Field(ge=MOVE_COST_MIN, le=MOVE_COST_MAX)] = Field(
        default=1.0,
        description="Factor on the region's costs of moving servers, for those of this reservation. Above 1 needs an "
        "approval",
    )
    gbit_per_rru: GbitPerRru = Field(
        default=0.0,
        description="Gbit/s that one RRU sends out of its rack: solves weigh the limits of uplinks by it",
    )
    msb_share_max: _Limit | None = Field(
        default=None, description="Hard limit: most of the capacity that one MSB may hold, as a share; null: none"
    )
    datacenters: Annotated[list[SomeName], Field(max_length=100)] = Field(
        default_factory=list, description="Hard limit: the only datacenters that may hold its servers; empty: all"
    )
    domain_limits: Annotated[list[DomainLimitIn], Field(max_length=KINDS_MAX + 2)] = Field(
        default_factory=list,
        description="Limits per kind of domain: how many domains may or should hold its servers, and how much one of "
        "them may",
    )
    guest_of: SomeName | None = Field(
        default=None,
        description="Another reservation of the same owner, on whose servers this one is a guest. It has no servers of "
        "its own, and is where that one is; null: it has its own. A resize cannot change it",
    )
    guest_share: Annotated[Number, Field(ge=GUEST_SHARE_MIN, le=GUEST_SHARES_MAX)] | None = Field(
        default=None, description="Share of each server of that reservation, which has the rest"
    )
    starts_at: Time | None = Field(
        default=None, description="Start of the window; no server is bound before; null: at once"
    )
    ends_at: Time | None = Field(
        default=None, description="End of the window, when it is deleted; null: when its owner deletes it"
    )

    def to_spec(self, before: ReservationSpec | None = None) -> ReservationSpec:
        """Return the whole spec: this one, or `before` with the changes of this one.

        The RRUs of a class are filled in later, by libs.web.rru_classes. Raises Problem (422) if capacity is given in
        two ways, or not at all.
        """
        capacity_rru, rru, unit = self._capacity(before)
        base = before or ReservationSpec(capacity_rru=capacity_rru, rru=rru)
        survived = {"survives_msb_loss", "survives_loss_of"}
        terms = survived | {"host_profile", "msb_spread_limit", "rack_spread_limit", "affinity"}
        kept = terms | {"priority", "move_cost", "msb_share_max", "datacenters", "resources", "starts_at", "ends_at"}
        kept |= {"guest_of", "guest_share", "gbit_per_rru"}
        values = {name: getattr(self if name in self.model_fields_set else base, name) for name in kept}
        values["domain_limits"] = self._limits() if "domain_limits" in self.model_fields_set else base.domain_limits
        for name in ("datacenters", "survives_loss_of"):
            values[name] = tuple(sorted(set(values[name])))
        values["resources"] = dict(sorted(values["resources"].items()))
        values["affinity_follows"] = self._follows(base)
        if (values["guest_of"] is None) != (values["guest_share"] is None):
            missing = "guest_share" if values["guest_share"] is None else "guest_of"
            raise _invalid(missing, "missing", "is required: a guest has both guest_of and guest_share")
        own = self.rru is not None or unit is CapacityUnit.COUNT
        values["workload_class"] = (
            self.workload_class if own or "workload_class" in self.model_fields_set else base.workload_class
        )
        return ReservationSpec(capacity_rru=capacity_rru, rru=rru, unit=unit, **values)

    def _follows(self, base: ReservationSpec) -> str | None:
        """Return the reservation that the affinity follows. Raises Problem (422) if shares are given too."""
        if self.affinity_follows is not None and self.affinity:
            raise _invalid("affinity", "conflict", "give either affinity, or affinity_follows")
        own = self.model_fields_set & {"affinity", "affinity_follows"}
        return self.affinity_follows if own else base.affinity_follows

    def _limits(self) -> tuple[DomainLimit, ...]:
        """Return the limits in order of kind. Raises Problem (422) if two have one kind."""
        found = sorted((limit.to_limit() for limit in self.domain_limits), key=lambda limit: limit.kind)
        for one, other in pairwise(found):
            if one.kind == other.kind:
                message = f"names the kind {one.kind} twice: give all of its limits in one entry"
                raise _invalid("domain_limits", "conflict", message)
        return tuple(found)

    def _capacity(self, before: ReservationSpec | None) -> tuple[float, dict[str, float], CapacityUnit]:
        by_count = self.count is not None or self.hardware_types is not None
        by_class = self.workload_class is not None
        by_rru = self.capacity_rru is not None or self.rru is not None or by_class
        if by_count and by_rru:
            field = "count" if self.count is not None else "hardware_types"
            raise _invalid(field, "conflict", "give either capacity_rru with rru, or count with hardware_types")
        if by_class and self.rru is not None:
            raise _invalid("rru", "conflict", "give either workload_class, whose RRUs the catalogue has, or rru")
        unit = CapacityUnit.COUNT if by_count else CapacityUnit.RRU if by_rru or before is None else before.unit
        self._require_types_of(unit, before)
        same = before if before is not None and before.unit is unit else None
        kept_rru = None if same is None else dict(same.rru)
        kept_capacity_rru = None if same is None else same.capacity_rru
        if unit is CapacityUnit.COUNT:
            capacity_rru = _given(None if self.count is None else float(self.count), kept_capacity_rru, "count")
            types = None if self.hardware_types is None else dict.fromkeys(self.hardware_types, 1.0)
            return capacity_rru, _given(types, kept_rru, "hardware_types"), unit
        capacity_rru = _given(self.capacity_rru, kept_capacity_rru, "capacity_rru")
        return capacity_rru, {} if by_class else _given(self.rru, kept_rru, "rru"), unit

    def _require_types_of(self, unit: CapacityUnit, before: ReservationSpec | None) -> None:
        """Raise Problem (422) if an amount is in another unit than `before`, and no type says what it counts."""
        if before is None or before.unit is unit:
            return
        own, other = _UNITS[unit], _UNITS[before.unit]
        if getattr(self, own.amount) is not None and all(getattr(self, name) is None for name in own.types):
            message = (
                f"does not apply: this reservation counts {other.counts}. Give {other.amount} ({other.option}) "
                f"instead, or {' or '.join(own.types)} too"
            )
            raise _invalid(own.amount, "other_unit", message)


class SpecOut(ResponseModel):
    """The wanted capacity. A capacity by count is a capacity_rru with RRUs of 1."""

    capacity_rru: float
    rru: dict[str, float]
    unit: CapacityUnit
    resources: dict[str, float]
    workload_class: str | None = Field(description="Class of the catalogue that rru follows; null: rru is its own")
    host_profile: str
    survives_msb_loss: bool
    survives_loss_of: list[str]
    msb_spread_limit: float | None
    rack_spread_limit: float | None
    affinity: dict[str, float] = Field(description="Datacenter -> share; the present ones if they follow another")
    affinity_follows: str | None = Field(description="Reservation that affinity follows; null: it is its own")
    priority: int
    move_cost: float
    gbit_per_rru: float
    msb_share_max: float | None
    datacenters: list[str]
    domain_limits: list[DomainLimitOut]
    guest_of: str | None = Field(description="Reservation on whose servers it is a guest; null: it has its own")
    guest_share: float | None = Field(description="Share of each of these servers that it has; null: it is no guest")
    starts_at: datetime | None
    ends_at: datetime | None


def _given(given: T | None, kept: T | None, field: str) -> T:
    value = kept if given is None else given
    if value is None:
        raise _invalid(
            field, "missing", "is required: give capacity_rru with workload_class or rru, or count with hardware_types"
        )
    return value


def _invalid(field: str, code: str, message: str) -> Problem:
    return invalid(FieldError(field=f"spec.{field}", location="body", code=code, message=message))
