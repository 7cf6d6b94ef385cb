"""The way of an event through the ledger: one total table, and what each change must say."""

from itertools import product

import pytest

from libs.domain.capacity_event import LIVE, TRANSITIONS, EventChange, EventStatus, why_not, why_not_amount

S = EventStatus
ALLOWED = {
    (S.PROPOSED, S.APPROVED),
    (S.PROPOSED, S.SUPERSEDED),
    (S.PROPOSED, S.CANCELLED),
    (S.APPROVED, S.ACTIVE),
    (S.APPROVED, S.SUPERSEDED),
    (S.APPROVED, S.CANCELLED),
    (S.ACTIVE, S.ACTIVE),
    (S.ACTIVE, S.SUCCEEDED),
    (S.ACTIVE, S.FAILED),
    (S.ACTIVE, S.SUPERSEDED),
    (S.ACTIVE, S.CANCELLED),
}


def change(status, achieved=None):
    return EventChange(capacity_event_id=1, generation=1, status=status, achieved=achieved)


@pytest.mark.parametrize(("now", "then"), list(product(S, S)))
def test_the_table_decides_every_pair(now, then):
    achieved = 1.0 if now is S.ACTIVE else None
    assert (why_not(now, change(then, achieved)) is None) == ((now, then) in ALLOWED)


def test_what_is_not_live_never_changes():
    assert set(TRANSITIONS) == set(S)
    assert {status for status, following in TRANSITIONS.items() if following} == set(LIVE)
    assert [status for status in S if status.is_live] == list(LIVE)


@pytest.mark.parametrize("then", [S.ACTIVE, S.SUCCEEDED, S.FAILED])
def test_a_report_says_how_much_has_happened(then):
    assert why_not(S.ACTIVE, change(then)) == "needs the amount achieved so far"


@pytest.mark.parametrize(("now", "then"), [(S.PROPOSED, S.CANCELLED), (S.APPROVED, S.ACTIVE)])
def test_nothing_happens_before_an_event_is_active(now, then):
    assert why_not(now, change(then, 1.0)) == f"is {now}, so nothing of it can have happened"


@pytest.mark.parametrize(
    ("amount", "achieved", "is_share", "possible"),
    [
        (10, 12, False, True),
        (-10, -2, False, True),
        (-10, 2, False, False),
        (10, 0, False, True),
        (0.5, 1.5, True, False),
    ],
)
def test_an_amount_goes_in_the_direction_of_its_event(amount, achieved, is_share, possible):
    assert (why_not_amount(amount, achieved, is_share=is_share) is None) == possible
