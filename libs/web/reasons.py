"""Reasons that people give for their actions, for approvers and for the audit trail."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import StringConstraints

GivenReason = Annotated[
    str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$", max_length=500)
]
"""One line that is not blank."""
ReasonQuery = Annotated[GivenReason | None, Query(description="Reason, for the audit trail")]
"""A parameter of a route whose method has no body."""
