"""Loans, urgent marks and servers under way of a reservation as JSON, for all resources that show it."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from libs.web.model import ResponseModel


class LoanSummaryOut(ResponseModel):
    """The servers that are lent to one reservation for the time of an exchange."""

    servers: int = Field(description="Lent to it, or lent until now and not gone yet")
    since: datetime | None = Field(description="Since when the first of them is lent; null: an older version lent it")
    until: datetime | None = Field(description="When the last loan ends at the latest; null: all are over")
    returning: int = Field(description="Those whose loan is over: they leave as soon as the reservation can spare them")
    message: str = Field(description="For people")


class UrgentSummaryOut(ResponseModel):
    """The servers that operators want out of one reservation at once."""

    servers: int
    since: datetime = Field(description="Since when the first of them is marked")
    marked_by: str = Field(description="Of the latest mark")
    reason: str = Field(description="Of the latest mark")
    message: str = Field(description="For people")


class TravellersOut(ResponseModel):
    """The servers on their way to one reservation, or away from it."""

    servers: int
    waiting: int = Field(description="Servers among them that wait for an event without a time: see `causes`")
    expected_at: datetime | None = Field(
        description="When the last one is expected to have moved, if no step fails; null: some wait"
    )
    not_before: datetime | None = Field(
        description="The same of those that do not wait: a lower bound for all; null: all wait"
    )
    causes: list[str] = Field(description="For each cause of a wait, the number of its servers and the cause")
    message: str = Field(description="For people")
