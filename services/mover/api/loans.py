"""`/v1/loans`: servers that are lent to reservations for the time of an exchange, since when and until when."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from libs.domain.spare import OVERSTAYS_S, LoanState
from libs.store.fleet.loans import list_loans
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.filters import require_known
from libs.web.model import PageOf, ResponseModel, SomeName
from libs.web.openapi import problems

router = APIRouter(prefix="/v1/loans", tags=["loans"])
_NOUN = "loans"


class LoanOut(ResponseModel):
    """A server that is lent to a reservation, or that was and has not left it."""

    server_id: int
    server: str
    region: str
    reservation_id: int
    reservation: str = Field(description="The borrower")
    home: str | None = Field(description="The reservation that the server goes to afterwards; null: it becomes free")
    since: datetime | None = Field(description="Since when it is lent; null: an older version lent it")
    until: datetime | None = Field(description="When the loan ends at the latest; null: an older version lent it")
    recalled_at: datetime | None = Field(description="Since when the loan is over; null: it is not")
    state: LoanState = Field(
        description="joining: on its way to the borrower; lent: there; returning: the loan is over, and the server "
        f"leaves once the borrower can spare it; overstays: likewise, for more than {OVERSTAYS_S / 60:g} minutes"
    )


@router.get("", operation_id="list_loans", responses=problems(404))
def get_loans(
    context: Context,
    paging: Paging,
    region: Annotated[SomeName | None, Query(description="Of this region only")] = None,
    reservation: Annotated[SomeName | None, Query(description="To the live reservation with this name only")] = None,
) -> PageOf[LoanOut]:
    """List the lent servers by id."""
    after, now = paging.after(_NOUN), context.clock.now()
    with context.database.snapshot() as tx:
        page = list_loans(tx, region=region, reservation=reservation, after=after, limit=paging.limit, now=now)
        require_known(tx, page.items, region, reservation=reservation)
    items = [LoanOut.model_validate(one) for one in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))
