"""Routes to read and cancel long runs. Solves, simulations and plan runs share them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from fastapi import Response

from libs.domain.page import Page
from libs.domain.principal import Principal
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.web.context import WebContext
from libs.web.cursors import PageQuery, next_cursor
from libs.web.idempotency import Answer, Writer
from libs.web.model import PageOf, ResponseModel
from libs.web.problems import Problem

Run = TypeVar("Run")
Out = TypeVar("Out", bound=ResponseModel)
PROGRESS = (
    "phase, incumbent, bound, gap, elapsed_s, and curve: the points so far, each with at_s, phase, incumbent and bound"
)
"""Description of the progress of a run that solves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LongRuns(Generic[Run, Out]):
    """One kind of long run, over REST.

    noun           name of one run, at the start of a sentence
    cursor_noun    noun of its cursors
    out            returns the JSON model of a run
    load           returns a run by id; raises NotFound
    cancel         cancels a run, or asks it to stop; returns False if it is over
    subject_kind   of the audit entry of a cancellation; None: no entry
    """

    noun: str
    cursor_noun: str
    out: Callable[[Run], Out]
    load: Callable[[Transaction, int], Run]
    cancel: Callable[[Transaction, int, datetime], bool]
    subject_kind: str | None = None

    def page(
        self, context: WebContext, paging: PageQuery, load_page: Callable[[Transaction, int | None], Page[Run]]
    ) -> PageOf[Out]:
        """Return one page of runs. `load_page` takes the last id of the page before."""
        after = paging.after(self.cursor_noun)
        with context.database.snapshot() as tx:
            page = load_page(tx, after)
        items = [self.out(run) for run in page.items]
        return PageOf(items=items, next_cursor=next_cursor(self.cursor_noun, page.next_cursor))

    def one(self, context: WebContext, run_id: int) -> Out:
        """Return one run. Raises NotFound."""
        with context.database.snapshot() as tx:
            return self.out(self.load(tx, run_id))

    def stop(self, context: WebContext, write: Writer, principal: Principal, run_id: int) -> Response:
        """Cancel a run, once per idempotency key. Raises NotFound, and Problem (409) if the run is over."""

        def effect(tx: Transaction) -> Answer:
            now = context.clock.now()
            self.load(tx, run_id)
            if not self.cancel(tx, run_id, now):
                raise Problem(409, "wrong_phase", f"{self.noun} {run_id} is over: there is nothing to stop.")
            if self.subject_kind is not None:
                kind, actor = self.subject_kind, principal.name
                audit.append(tx, actor=actor, action="cancel", subject_kind=kind, subject_id=run_id, now=now)
            return Answer(202, self.out(self.load(tx, run_id)))

        return write.once(effect)
