"""Replicas of stateful services are acknowledged before traffic comes, and gone before the capacity goes."""

import time

import pytest

from libs.actuators.signature import SIGNATURE, Call, is_signed
from libs.carriers.replicas import ReplicasCarrier, ReplicasSettings
from libs.domain.action_outcome import ActionRequest, Answer, Outcome
from libs.domain.execution_plan import Action, Phase
from tests.builders.http_system import Asked, HttpSystem

SECRET = "a secret of sixteen letters"


class Capacity:
    """A carrier that says what the test wants, and remembers what it was asked."""

    def __init__(self) -> None:
        self.outcome, self.asked = Outcome.DONE, []

    def perform(self, requests):
        self.asked += [one.action.service for one in requests]
        return [Answer(outcome=self.outcome) for _ in requests]


def request(service: str, before: float, after: float) -> ActionRequest:
    phase = Phase.UPSIZE if after > before else Phase.DOWNSIZE
    action = Action(
        action=f"{phase}/{service}",
        phase=phase,
        service=service,
        region="east",
        hardware_type="hw",
        before=before,
        after=after,
    )
    return ActionRequest(key=f"7/{action.action}/1", action=action, fraction=1.0, size=after, requested_s=0.0)


@pytest.fixture
def capacity():
    return Capacity()


def carrier(url: str, capacity: Capacity) -> ReplicasCarrier:
    values = {
        "PLIMSOLL_REPLICAS_URL": f"{url}/replicas",
        "PLIMSOLL_REPLICAS_SERVICES": ["store"],
        "PLIMSOLL_REPLICAS_SECRET": SECRET,
    }
    return ReplicasCarrier(ReplicasSettings.model_validate(values), capacity)


def test_an_upsize_is_done_when_its_replicas_are_acknowledged(capacity):
    replies = iter([(202, {"message": "2 of 5 are built"}), (200, {})])
    with HttpSystem(lambda asked: next(replies)) as system:
        one = carrier(system.url, capacity)
        capacity.outcome = Outcome.RUNNING
        assert [a.outcome for a in one.perform([request("store", 10, 20)])] == [Outcome.RUNNING]
        assert system.asked == []  # there is no capacity to build replicas on
        capacity.outcome = Outcome.DONE
        [answer] = one.perform([request("store", 10, 20)])
        assert (answer.outcome, answer.message) == (Outcome.RUNNING, "2 of 5 are built")
        assert [a.outcome for a in one.perform([request("store", 10, 20)])] == [Outcome.DONE]
    keys = {asked.headers["Idempotency-Key"] for asked in system.asked}
    assert keys == {"7/upsize/store/1/replicas"}
    assert system.asked[0].json()["after"] == 20
    assert signed(system.asked[0])


def signed(asked: Asked) -> bool:
    call = Call(method="POST", target=asked.path, key=asked.headers["Idempotency-Key"], body=asked.body)
    return is_signed(asked.headers[SIGNATURE], call, [SECRET.encode()], now_s=time.time())


def test_a_downsize_begins_when_its_replicas_are_gone(capacity):
    replies = iter([(202, {}), (500, {}), (200, {})])
    with HttpSystem(lambda asked: next(replies)) as system:
        one = carrier(system.url, capacity)
        outcomes = [one.perform([request("store", 20, 10)])[0].outcome for _ in range(2)]
        assert (outcomes, capacity.asked) == ([Outcome.RUNNING, Outcome.UNKNOWN], [])
        assert one.perform([request("store", 20, 10)])[0].outcome is Outcome.DONE
        assert capacity.asked == ["store"]


def test_replicas_that_cannot_be_removed_keep_their_capacity(capacity):
    with HttpSystem(lambda asked: (409, {"message": "the last replica of a shard"})) as system:
        [answer] = carrier(system.url, capacity).perform([request("store", 20, 10)])
    assert answer.outcome is Outcome.FAILED
    assert "the last replica of a shard" in str(answer.message)
    assert capacity.asked == []


def test_other_services_are_resized_alone_and_answers_keep_their_order(capacity):
    with HttpSystem(lambda asked: (202, {})) as system:
        both = [request("store", 20, 10), request("web", 1, 2), request("store", 10, 20)]
        found = carrier(system.url, capacity).perform(both)
    assert [a.outcome for a in found] == [Outcome.RUNNING, Outcome.DONE, Outcome.RUNNING]
    assert capacity.asked == ["web", "store"]
