"""The answer to a request for maintenance as JSON."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from libs.domain.maintenance import MaintenanceAnswer, MaintenanceReason, MaintenanceVerdict
from libs.web.model import ResponseModel


class MaintenanceAnswerOut(ResponseModel):
    """The answer to a request for maintenance: it may begin, is queued, or is refused, and why."""

    verdict: MaintenanceVerdict
    reason: MaintenanceReason = Field(description="The rule that decided; match on this")
    message: str = Field(description="For people")
    waits_for: list[int] = Field(description="Ids of the events that it waits for")
    short_rru: dict[str, float] = Field(
        description="Reservations that would hold less than they are promised, with the RRU that they would lack"
    )
    position: int | None = Field(description="Place in the region's queue, from 1; null: it is not queued")
    begins_at: datetime | None = Field(description="Estimate of its beginning; null: not queued, or not known")

    @classmethod
    def of(cls, answer: MaintenanceAnswer) -> MaintenanceAnswerOut:
        """Return the answer as clients see it."""
        return cls.model_validate(answer)


class NewcomersOut(ResponseModel):
    """Servers that an import brought into maintenance after it was allowed. They go on working until they may join."""

    servers: int = Field(description="How many of them are in no maintenance")
    answer: MaintenanceAnswerOut = Field(description="Of the rules, to a request for them; it is asked each minute")
