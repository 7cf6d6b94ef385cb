"""Loans and urgent marks of a reservation as JSON, for all resources that show it."""

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
