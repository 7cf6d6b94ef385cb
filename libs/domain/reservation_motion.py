"""The servers of a reservation that wait, come on loan, or leave in a hurry: what people see beside its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from libs.domain.departure_wait import DepartureWait
from libs.domain.spare import LoanSummary
from libs.domain.under_way import UnderWay
from libs.domain.words import counted_are


@dataclass(frozen=True, slots=True, kw_only=True)
class UrgentSummary:
    """The servers of one reservation that operators want out of it at once.

    since              time of the first mark
    marked_by, reason  of the latest mark
    """

    servers: int
    since: datetime
    marked_by: str
    reason: str

    @property
    def message(self) -> str:
        """Return the marks as a sentence for people."""
        subject = counted_are(self.servers, "server")
        return (
            f"{subject} marked as urgent by {self.marked_by} ({self.reason}): where a plan sends a marked server, it "
            "leaves at once, even if only the embedded buffer spares it."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationMotion:
    """The moves of a reservation that people should know of now. None: nothing of that kind.

    under_way   None: not asked for; only an explanation has it
    """

    wait: DepartureWait | None = None
    loans: LoanSummary | None = None
    urgent: UrgentSummary | None = None
    under_way: UnderWay | None = None

    @property
    def message(self) -> str:
        """Return all of it as sentences for people; empty if nothing moves."""
        return " ".join(one.message for one in (self.under_way, self.wait, self.loans, self.urgent) if one is not None)
