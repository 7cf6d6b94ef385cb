"""Limits per kind of domain in requests and responses, and their check against a region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator, model_validator

from libs.domain.domain_limits import DATACENTER, LIMITS, MSB, SERVERS_MAX, DomainLimit, meaningless_preference
from libs.domain.region import Region
from libs.store.platform.database import Transaction
from libs.web.domain_kinds import PlaceKind, wrong_kinds
from libs.web.model import Number, RequestModel, ResponseModel, Whole
from libs.web.problems import FieldError

_FIELD = "spec.domain_limits"
_Count = Annotated[Whole, Field(ge=1, le=SERVERS_MAX)]


class DomainLimitIn(RequestModel):
    """Limits of a reservation for the domains of one kind. All are hard but domains_preferred."""

    kind: PlaceKind = Field(description="datacenter, msb, or a further kind of the region, such as network_block")
    domains_max: _Count | None = Field(
        default=None, description="Most domains of the kind that may hold its servers; solves choose which; null: any"
    )
    servers_max: _Count | None = Field(
        default=None, description="Most of its servers in one domain, such as those of a quorum; null: any"
    )
    share_max: Annotated[Number, Field(gt=0, le=1)] | None = Field(
        default=None, description="Most of its capacity in one domain, as a share, such as k / n shards; null: any"
    )

    domains_preferred: _Count | None = Field(
        default=None,
        description="Most domains of the kind without a price; each further one costs the policy's locality_cost; "
        "null: any",
    )

    @model_validator(mode="after")
    def _names_a_limit(self) -> DomainLimitIn:
        if all(getattr(self, name) is None for name in LIMITS):
            raise ValueError(f"give at least one of {', '.join(LIMITS)}, or leave out the kind {self.kind}")
        return self

    @field_validator("domains_preferred")
    @classmethod
    def _prefers_what_may_be(cls, preferred: int | None, given: ValidationInfo) -> int | None:
        wrong = meaningless_preference(preferred, given.data.get("domains_max"))
        if wrong is not None:
            raise ValueError(wrong)
        return preferred

    def to_limit(self) -> DomainLimit:
        """Return the limits of the domain."""
        return DomainLimit(**self.model_dump())


class DomainLimitOut(ResponseModel):
    """Limits of a reservation for the domains of one kind."""

    kind: str
    domains_max: int | None
    servers_max: int | None
    share_max: float | None
    domains_preferred: int | None


def wrong_limits(tx: Transaction, region: Region, limits: Sequence[DomainLimit]) -> list[FieldError]:
    """Return an error for each limit of a kind that the region does not have, or of which no server has a place."""
    further = [limit.kind for limit in limits if limit.kind not in (DATACENTER, MSB)]
    return wrong_kinds(tx, region, further, _FIELD, also=(DATACENTER, MSB))
