"""Test reminders: one for each interval and recipient, retried, and never sent twice."""

from contextlib import suppress

import pytest
import sqlalchemy as sa

from libs.actuators.signature import SIGNATURE, Call, is_signed
from libs.carriers.calls import Reply
from libs.carriers.reminder import ReminderSettings, ReminderWebhook, outcome_of
from libs.domain.reminder import ReminderStatus
from libs.reconcile.crash import crash_points_heard
from services.portal.reconcilers.remind_approvals import RemindApprovals
from tests.builders.http_system import HttpSystem
from tests.services.portal.api.test_action_approvals import WAITING, orchestrator  # noqa: F401

SECRET, DAY_S = "0123456789abcdef", 86_400.0
SENT, DUE, UNKNOWN, FAILED = (ReminderStatus(name) for name in ("sent", "due", "unknown", "failed"))


class Sender:
    def __init__(self):
        self.sent, self.says = [], SENT

    def send(self, calls, now):
        self.sent += calls
        return [(self.says, None) for _ in calls]


@pytest.fixture
def remind(orchestrator):  # noqa: F811
    sender = Sender()
    orchestrator.start()

    def remind(seconds=60.0):
        orchestrator.clock.sleep(seconds)
        RemindApprovals(orchestrator.database, orchestrator.clock, sender, DAY_S, 3).reconcile()
        return len(sender.sent)

    remind.sender, remind.orchestrator = sender, orchestrator
    return remind


def statuses(remind):
    with remind.orchestrator.database.snapshot() as tx:
        return list(tx.execute(sa.text("SELECT status FROM approval_reminders ORDER BY due_at, recipient")).scalars())


def test_what_waits_for_an_interval_is_named_once_in_each(remind):
    assert remind() == 0
    assert remind(DAY_S) == 1
    assert [remind() for _ in range(5)] == [1] * 5
    assert remind(DAY_S) == 2
    (call, _) = remind.sender.sent
    assert (call.reminder.waiting, {one.subject for one in call.items}) == (2, set(WAITING))
    assert len({one.reminder.key for one in remind.sender.sent}) == 2


def test_a_call_that_did_not_arrive_is_made_again_until_it_is_given_up(remind):
    remind.sender.says = DUE
    remind(DAY_S)
    assert [remind(), remind(), remind()] == [2, 3, 3]
    assert statuses(remind) == ["failed"]


@pytest.mark.parametrize("says", [UNKNOWN, FAILED, SENT])
def test_a_call_that_may_have_arrived_is_not_made_again(remind, says):
    remind.sender.says = says
    assert [remind(DAY_S), remind(), remind()] == [1, 1, 1]
    assert statuses(remind) == [says.value]


@pytest.mark.parametrize("point", ["portal.remind.before", "portal.remind.after"])
def test_a_process_that_dies_never_leads_to_two_calls(remind, point):
    class Killed(Exception):
        pass

    def die(name):
        if name == point:
            raise Killed

    with suppress(Killed), crash_points_heard(die):
        remind(DAY_S)
    calls = len(remind.sender.sent)
    assert [remind(), remind()] == [calls, calls]
    assert statuses(remind) == ["unknown"]


def test_owners_are_reminded_of_theirs(remind):
    with remind.orchestrator.database.write() as tx:
        tx.execute(sa.text("UPDATE approvals SET for_owner = 'shop' WHERE change ->> 'service' = 'shop-front'"))
    remind(DAY_S)
    assert {(one.reminder.recipient, one.reminder.waiting) for one in remind.sender.sent} == {("", 1), ("shop", 1)}


def test_nothing_is_sent_where_nothing_waits_or_no_receiver_is_set_up(remind):
    o = remind.orchestrator
    o.clock.sleep(DAY_S)
    assert RemindApprovals(o.database, o.clock, None, DAY_S, 3).reconcile() == 0
    assert statuses(remind) == []


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (200, "", SENT),
        (202, "", SENT),
        (401, "", DUE),
        (429, "", DUE),
        (503, "", DUE),
        (422, "", FAILED),
        (500, "", UNKNOWN),
        (302, "", UNKNOWN),
        (None, "ConnectError: refused", DUE),
        (None, "no answer in 10 s", UNKNOWN),
    ],
)
def test_answers_tell_whether_it_may_have_arrived(status, message, expected):
    assert outcome_of(Reply(status=status, message=message))[0] is expected


def test_calls_are_signed_and_name_what_waits(remind):
    with HttpSystem(lambda asked: (200, {})) as system:
        settings = {"PLIMSOLL_REMINDER_URL": system.url + "/r", "PLIMSOLL_REMINDER_SECRET": SECRET}
        sender = ReminderWebhook(ReminderSettings.model_validate(settings))
        o = remind.orchestrator
        o.clock.sleep(DAY_S)
        assert RemindApprovals(o.database, o.clock, sender, DAY_S, 3).reconcile() == 1
    (asked,) = system.asked
    key = asked.headers["Idempotency-Key"]
    call = Call(method="POST", target="/r", key=key, body=asked.body)
    at_s = int(asked.headers[SIGNATURE].split(",")[0].removeprefix("t="))
    assert is_signed(asked.headers[SIGNATURE], call, [SECRET.encode()], now_s=at_s)
    found = asked.json()
    assert (found["key"], found["to"], found["waiting"]) == (key, None, 2)
    assert found["approvals"][0]["waiting_s"] == DAY_S


def test_settings_are_checked_together():
    with pytest.raises(ValueError, match="PLIMSOLL_REMINDER_SECRET"):
        ReminderSettings.model_validate({"PLIMSOLL_REMINDER_URL": "https://example.com/r"})
    with pytest.raises(ValueError, match="HTTP_ALLOWED"):
        ReminderSettings.model_validate(
            {"PLIMSOLL_REMINDER_URL": "http://example.com/r", "PLIMSOLL_REMINDER_SECRET": SECRET}
        )
