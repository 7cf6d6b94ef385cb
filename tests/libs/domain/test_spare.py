"""The loans of a reservation, in a sentence."""

from libs.domain.spare import LoanSummary


def test_loans_that_are_all_over_have_no_end() -> None:
    told = LoanSummary(servers=1, since=None, until=None, returning=1)
    assert (
        told.message == "1 of its servers is on loan: 1 whose loan is over and that leave as soon as it can spare them."
    )
