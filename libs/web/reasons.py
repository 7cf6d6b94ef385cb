"""Reasons that people give for their actions, for approvers and for the audit trail."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import StringConstraints

from libs.web import patterns

GivenReason = Annotated[str, StringConstraints(pattern=patterns.REASON, max_length=500)]
"""One line that is not blank."""
ReasonQuery = Annotated[GivenReason | None, Query(description="Reason, for the audit trail")]
"""A parameter of a route whose method has no body."""
